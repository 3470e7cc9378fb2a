package gateway

import (
	"crypto/sha256"
	"encoding/base64"
	"regexp"

	"github.com/gofiber/fiber/v2"
	"github.com/swaggest/swgui/v5emb"
	"github.com/valyala/fasthttp"
	"github.com/valyala/fasthttp/fasthttpadaptor"
)

// docsFiles are what the page of the API's description loads. They come with its package, compressed.
var docsFiles = []string{
	"swagger-ui.css", "swagger-ui-bundle.js", "swagger-ui-standalone-preset.js", "favicon-16x16.png", "favicon-32x32.png",
}

// docs puts /docs and its files into the table: Swagger UI, which reads /openapi.json and asks nobody else.
func (g *Gateway) docs() {
	ui := fasthttpadaptor.NewFastHTTPHandler(v5emb.New("rankgate", "/openapi.json", "/docs/"))
	g.get("/docs", docsPage(ui).serve)
	for _, name := range docsFiles {
		g.get("/docs/"+name, func(c *fiber.Ctx) error {
			c.Set(fiber.HeaderCacheControl, "no-cache")
			c.Set(fiber.HeaderVary, fiber.HeaderAcceptEncoding)
			ui(c.Context())
			return nil
		})
	}
}

// inline finds scripts that are part of a page.
var inline = regexp.MustCompile(`(?s)<script>(.*?)</script>`)

// docsPage renders the page once. Its policy lets run the scripts it came with, by their hashes, and Swagger UI
// style what it draws, which it does inline.
func docsPage(ui fasthttp.RequestHandler) *asset {
	var ctx fasthttp.RequestCtx
	ctx.Init(new(fasthttp.Request), nil, nil)
	ctx.Request.SetRequestURI("/docs")
	ui(&ctx)
	body := ctx.Response.Body()
	scripts := "'self'"
	for _, script := range inline.FindAllSubmatch(body, -1) {
		hash := sha256.Sum256(script[1])
		scripts += " 'sha256-" + base64.StdEncoding.EncodeToString(hash[:]) + "'"
	}
	policy := "default-src 'none'; script-src " + scripts + "; style-src 'self' 'unsafe-inline'; img-src 'self' data:; " +
		"connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
	return newAsset("/docs", body, fiber.MIMETextHTMLCharsetUTF8, policy)
}
