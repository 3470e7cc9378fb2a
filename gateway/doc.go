// Package gateway is the public face: it turns HTTP into questions for a rankcore.Reader and operations for
// a Writer, and answers, errors and freshness into HTTP.
//
// It ranks nothing, keeps no answer but the newest event of a stream, and knows no store, log or cache: whoever
// wires it brings those. A read of a known board is answered whatever fails behind it. Nothing of a request outlives
// its handler uncopied, and no goroutine holds a *fiber.Ctx.
// It may import rankcore, gateway/quota and gateway/identity, and is the only package that imports Fiber and fasthttp.
package gateway
