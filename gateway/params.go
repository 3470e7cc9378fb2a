package gateway

import (
	"cmp"
	"slices"
	"strings"

	"github.com/gofiber/fiber/v2"
	"github.com/gofiber/fiber/v2/utils"

	"rankgate/rankcore"
)

// calendar is the calendar of the board that the path names.
func (g *Gateway) calendar(c *fiber.Ctx) (*calendar, error) {
	name, err := unescape(c.Params("board"), false)
	if err != nil {
		return nil, err
	}
	k, ok := g.calendars[rankcore.BoardID(name)]
	if !ok {
		return nil, unknownBoard.because("GET /v1/boards lists the boards there are.")
	}
	return k, nil
}

// pathUser is the user that the path names, a view into the request.
func pathUser(c *fiber.Ctx) (rankcore.UserID, error) {
	name, err := unescape(c.Params("user"), false)
	if err != nil {
		return "", err
	}
	u, err := rankcore.ParseUserID(name)
	if err != nil {
		return "", badRequest.because(err.Error())
	}
	return u, nil
}

// unescape decodes percent-encoding once. What has none is returned as it is, which for a part of a request is a view
// into a buffer that the next request reuses. In a query, plus is a space.
func unescape(s string, query bool) (string, error) {
	if strings.IndexByte(s, '%') < 0 && (!query || strings.IndexByte(s, '+') < 0) {
		return s, nil
	}
	out := make([]byte, 0, len(s))
	for i := 0; i < len(s); i++ {
		switch {
		case s[i] == '%':
			if i+2 >= len(s) || unhex(s[i+1]) < 0 || unhex(s[i+2]) < 0 {
				return "", badRequest.because("a percent sign must be followed by two hexadecimal digits")
			}
			out = append(out, byte(unhex(s[i+1])<<4|unhex(s[i+2])))
			i += 2
		case s[i] == '+' && query:
			out = append(out, ' ')
		default:
			out = append(out, s[i])
		}
	}
	return string(out), nil
}

func unhex(c byte) int {
	switch {
	case '0' <= c && c <= '9':
		return int(c - '0')
	case 'a' <= c && c <= 'f':
		return int(c-'a') + 10
	case 'A' <= c && c <= 'F':
		return int(c-'A') + 10
	}
	return -1
}

// maxParams is the most that a path takes.
const maxParams = 5

// params are a query's parameters. Their values may be views into the request.
type params struct {
	n     int
	given [maxParams]struct{ name, value string }
}

// read reads the query, which may have the parameters that the path takes, each once and not empty. One that it does
// not take is refused: a misspelt one would silently change the answer.
func (p *params) read(c *fiber.Ctx, takes []string) error {
	for rest := utils.UnsafeString(c.Context().URI().QueryString()); rest != ""; {
		var pair string
		pair, rest, _ = strings.Cut(rest, "&")
		if pair == "" {
			continue
		}
		name, value, _ := strings.Cut(pair, "=")
		name, err := unescape(name, true)
		if err != nil {
			return err
		}
		if value, err = unescape(value, true); err != nil {
			return err
		}
		at := slices.Index(takes, name)
		switch {
		case at < 0:
			return badRequest.because("an unknown query parameter: this path takes " + cmp.Or(strings.Join(takes, ", "), "none"))
		case p.get(name) != "":
			return badRequest.because("the query parameter " + takes[at] + " is given twice")
		case value == "":
			return badRequest.because("the query parameter " + takes[at] + " is empty")
		}
		p.given[p.n].name, p.given[p.n].value = takes[at], value
		p.n++
	}
	return nil
}

// get is the parameter's value; "" means that it is not given.
func (p *params) get(name string) string {
	for i := range p.given[:p.n] {
		if p.given[i].name == name {
			return p.given[i].value
		}
	}
	return ""
}
