package gateway

import (
	"strconv"
	"time"

	"github.com/gofiber/fiber/v2"
	"github.com/valyala/fasthttp"
)

// header is one that many answers have, spelt as it is sent: looking how to spell it costs more than sending it.
type header struct{ name, value []byte }

func newHeader(name, value string) *header { return &header{[]byte(name), []byte(value)} }

func (h *header) set(to *fasthttp.ResponseHeader) { to.SetCanonical(h.name, h.value) }

var (
	acceptVaries = newHeader(fiber.HeaderVary, fiber.HeaderAcceptEncoding)
	noSniff      = newHeader(fiber.HeaderXContentTypeOptions, "nosniff")

	hit      = newHeader("Cache-Status", "rankgate; hit")
	fwdMiss  = newHeader("Cache-Status", "rankgate; fwd=miss")
	fwdStale = newHeader("Cache-Status", "rankgate; fwd=stale")

	noneMatchName       = []byte(fiber.HeaderIfNoneMatch)
	positionAppliedName = []byte("If-Position-Applied")

	etagName         = []byte("Etag") // the spelling that fasthttp gives it
	ageName          = []byte(fiber.HeaderAge)
	cacheControlName = []byte(fiber.HeaderCacheControl)
	gzipName         = []byte("gzip")
	jsonType         = []byte(fiber.MIMEApplicationJSON)
)

// appendSeconds appends d's whole seconds, at least 0.
func appendSeconds(dst []byte, d time.Duration) []byte {
	return strconv.AppendInt(dst, int64(max(d, 0)/time.Second), 10)
}
