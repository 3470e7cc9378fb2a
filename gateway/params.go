package gateway

import (
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/gofiber/fiber/v2"

	"rankgate/rankcore"
)

// board is the board that the path names.
func (g *Gateway) board(c *fiber.Ctx) (*rankcore.Board, error) {
	name, err := unescape(c.Params("board"), false)
	if err != nil {
		return nil, err
	}
	b, ok := g.byID[rankcore.BoardID(name)]
	if !ok {
		return nil, unknownBoard.because("GET /v1/boards lists the boards there are.")
	}
	return b, nil
}

// user is the user that the path names.
func user(c *fiber.Ctx) (rankcore.UserID, error) {
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

// unescape decodes percent-encoding once and always copies: Fiber's strings are views into a buffer that the
// next request reuses. In a query, plus is a space.
func unescape(s string, query bool) (string, error) {
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

// params are a query's parameters.
type params []struct{ name, value string }

// query reads the query, which may have the named parameters, each once and not empty. A parameter that the
// route does not know is refused: a misspelt one would silently change the answer.
func query(c *fiber.Ctx, names ...string) (params, error) {
	raw := c.Context().URI().QueryString()
	if len(raw) == 0 {
		return nil, nil
	}
	var read params
	for pair := range strings.SplitSeq(string(raw), "&") {
		if pair == "" {
			continue
		}
		name, value, _ := strings.Cut(pair, "=")
		name, err := unescape(name, true)
		if err != nil {
			return nil, err
		}
		if value, err = unescape(value, true); err != nil {
			return nil, err
		}
		switch {
		case !slices.Contains(names, name):
			return nil, badRequest.because("an unknown query parameter: this path takes " + takes(names))
		case read.get(name) != "":
			return nil, badRequest.because("the query parameter " + name + " is given twice")
		case value == "":
			return nil, badRequest.because("the query parameter " + name + " is empty")
		}
		read = append(read, struct{ name, value string }{name, value})
	}
	return read, nil
}

func takes(names []string) string {
	if len(names) == 0 {
		return "none"
	}
	return strings.Join(names, ", ")
}

// get is the parameter's value; "" means that it is not given.
func (p params) get(name string) string {
	for _, param := range p {
		if param.name == name {
			return param.value
		}
	}
	return ""
}

// season is the season asked for, by the board's calendar.
func (p params) season(b *rankcore.Board, now time.Time) (rankcore.Season, error) {
	s, err := b.ParseSeason(p.get("season"), now)
	if err != nil && !errors.Is(err, rankcore.ErrNoSeason) {
		err = badRequest.because(err.Error())
	}
	return s, err
}

// count is a parameter that counts rows: digits only, from least on. Without it, it is what otherwise says.
func (p params) count(name string, least, otherwise int) (int, error) {
	text := p.get(name)
	if text == "" {
		return otherwise, nil
	}
	n, err := strconv.ParseUint(text, 10, 31)
	if err != nil || int(n) < least {
		return 0, badRequest.because(name + " is a whole number, at least " + strconv.Itoa(least))
	}
	return int(n), nil
}
