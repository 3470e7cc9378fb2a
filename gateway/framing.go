package gateway

import (
	"bytes"

	"github.com/gofiber/fiber/v2"
	"github.com/valyala/fasthttp"
)

var (
	errFramedTwice  = badRequest.because("a request has either Content-Length or Transfer-Encoding, not both")
	errEncoding     = badRequest.because("the only Transfer-Encoding taken is chunked")
	errHeaderLine   = badRequest.because("a line of the header is one field, has no space in its name, and ends with CR and LF")
	errTrailerField = badRequest.because("fields behind the body are not taken")
)

// misframed is what is wrong with a request that two servers in a row may read differently, or that says in its trailer
// what a proxy in front has removed from its header. fasthttp takes them all: it joins folded lines, ends a line at a bare
// LF, and shows a trailer's fields as if they were the header's. What else is odd it refuses itself.
func misframed(h *fasthttp.RequestHeader) error {
	if len(h.TrailerHeader()) > len("\r\n") {
		return errTrailerField
	}
	var length, encoding bool
	for rest := h.RawHeaders(); len(rest) > 0; {
		end := bytes.IndexByte(rest, '\n')
		if end < 1 || rest[end-1] != '\r' || rest[0] == ' ' || rest[0] == '\t' {
			return errHeaderLine
		}
		line := rest[:end-1]
		rest = rest[end+1:]
		name := line[:max(bytes.IndexByte(line, ':'), 0)]
		if bytes.IndexByte(name, ' ') >= 0 {
			return errHeaderLine
		}
		switch { // few names are so long, so next to none is compared
		case len(name) == len(fiber.HeaderContentLength) && bytes.EqualFold(name, []byte(fiber.HeaderContentLength)):
			length = true
		case len(name) == len(fiber.HeaderTransferEncoding) && bytes.EqualFold(name, []byte(fiber.HeaderTransferEncoding)):
			encoding = true
			value := line[len(name)+1:]
			if !bytes.EqualFold(bytes.Trim(value, " \t"), []byte("chunked")) {
				return errEncoding
			}
		}
	}
	if length && encoding {
		return errFramedTwice
	}
	return nil
}
