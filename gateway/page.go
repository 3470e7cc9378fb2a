package gateway

import (
	"embed"
	"fmt"

	"github.com/cespare/xxhash/v2"
	"github.com/gofiber/fiber/v2"
)

//go:embed page openapi.json
var files embed.FS

// pageFiles are the files that GET serves as they are: the page for people and what it consists of, and the
// API's description for programs.
var pageFiles = []*asset{
	embedded("/", "page/index.html", fiber.MIMETextHTMLCharsetUTF8),
	embedded("/page/app.js", "page/app.js", "text/javascript; charset=utf-8"),
	embedded("/page/words.js", "page/words.js", "text/javascript; charset=utf-8"),
	embedded("/page/style.css", "page/style.css", "text/css; charset=utf-8"),
	embedded("/page/icon.svg", "page/icon.svg", "image/svg+xml"),
	embedded("/openapi.json", "openapi.json", fiber.MIMEApplicationJSON),
}

// pagePolicy lets the page load its own files and ask its own server, and nothing else.
const pagePolicy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; " +
	"base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// asset is a file at a path, and what a page made of it may do.
type asset struct {
	path, mime, policy string
	tag, body          []byte
}

func newAsset(path string, body []byte, mime, policy string) *asset {
	return &asset{path, mime, policy, fmt.Appendf(nil, `"%x"`, xxhash.Sum64(body)), body}
}

// embedded is an asset from files.
func embedded(path, file, mime string) *asset {
	body, err := files.ReadFile(file)
	if err != nil { // it is embedded, so this is a misspelt name above
		panic(err)
	}
	return newAsset(path, body, mime, pagePolicy)
}

// serve answers with the file. It may be kept, and must be asked after: a new release shows at once.
func (a *asset) serve(c *fiber.Ctx) error {
	c.Set(fiber.HeaderCacheControl, "no-cache")
	c.Response().Header.SetCanonical(etagName, a.tag)
	if matches(c, a.tag) {
		notModified(c)
		return nil
	}
	c.Set(fiber.HeaderContentSecurityPolicy, a.policy)
	c.Set(fiber.HeaderReferrerPolicy, "no-referrer")
	c.Set(fiber.HeaderContentType, a.mime)
	return c.Send(a.body)
}
