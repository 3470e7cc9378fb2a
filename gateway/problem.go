package gateway

import (
	"encoding/json"
	"errors"

	"github.com/gofiber/fiber/v2"
	"github.com/valyala/fasthttp"

	"rankgate/rankcore"
)

// kind is a sort of problem that a caller can tell from others by its type, "/problems/<name>".
type kind struct {
	status      int
	name, title string
}

var (
	badRequest      = &kind{400, "bad-request", "Bad request"}
	badBody         = &kind{400, "bad-body", "The body is not what is wanted"}
	badOps          = &kind{400, "bad-operations", "Some operations cannot be taken, so none was"}
	unauthorized    = &kind{401, "unauthorized", "Credentials are needed"}
	forbidden       = &kind{403, "forbidden", "The credentials do not allow this"}
	notFound        = &kind{404, "not-found", "There is nothing at this path"}
	unknownBoard    = &kind{404, "unknown-board", "There is no such board"}
	unknownSeason   = &kind{404, "unknown-season", "The board keeps no such season"}
	notRanked       = &kind{404, "user-not-ranked", "The user has no rank"}
	wrongMethod     = &kind{405, "method-not-allowed", "The path does not take this method"}
	tooSlow         = &kind{408, "request-timeout", "The request came too slowly"}
	verifyRunning   = &kind{409, "verify-running", "A board is being verified here"}
	bodyTooLarge    = &kind{413, "body-too-large", "The body is too large"}
	notJSON         = &kind{415, "unsupported-media-type", "The body is not application/json"}
	exactSpent      = &kind{429, "exact-rank-quota", "There is no exact rank left for today"}
	tooManyRequests = &kind{429, "too-many-requests", "There are too many requests from here"}
	tooManyOfOne    = &kind{429, "too-many-streams", "There are too many streams from here"}
	headerTooLarge  = &kind{431, "header-too-large", "The header is too large"}
	internal        = &kind{500, "internal", "Something went wrong here"}
	logUnavailable  = &kind{503, "log-unavailable", "Writes cannot be made durable now"}
	cannotJudge     = &kind{503, "credentials-unchecked", "Credentials cannot be checked now"}
	tooManyStreams  = &kind{503, "streams-in-use", "There is no stream left"}
	notFresh        = &kind{503, "not-fresh", "There is no fresh answer now"}
)

// foreign are the errors of others that have a kind. Anything else is internal: logged, never shown.
var foreign = []struct {
	is     error
	kind   *kind
	detail string
}{
	{rankcore.ErrNotRanked, notRanked, "The user has no score in this season, or is hidden."},
	{rankcore.ErrNoSeason, unknownSeason, "The season is not kept by this board, no longer, or not yet begun."},
	{errAppend, logUnavailable, "Nothing was stored, or it is not known: it is safe to send this again with the same operation ids."},
	{fiber.ErrNotFound, notFound, ""},
	{fiber.ErrMethodNotAllowed, wrongMethod, "The Allow header has the methods there are."},
}

// refusal is an error that knows its kind, with a detail that repeats nothing of the request.
type refusal struct {
	*kind
	detail string
}

func (r *refusal) Error() string { return r.name + ": " + r.detail }

// spent is the refusal of an exact rank, with the answer that precision=auto gets.
type spent struct {
	detail string
	answer []byte // JSON
}

func (s *spent) Error() string { return exactSpent.name + ": " + s.detail }

func (k *kind) because(detail string) error { return &refusal{k, detail} }

// problem is the body of every error (RFC 9457).
type problem struct {
	Type   string            `json:"type"`
	Title  string            `json:"title"`
	Status int               `json:"status"`
	Detail string            `json:"detail,omitempty"`
	Errors rankcore.OpErrors `json:"errors,omitempty"`
	Answer json.RawMessage   `json:"answer,omitempty"` // what may be had instead
}

// problemOf is what the caller is told of err.
func problemOf(err error) (*kind, problem) {
	k, p := internal, problem{}
	var known *refusal
	var noExact *spent
	var body *rankcore.BodyError
	var fiberError *fiber.Error
	switch {
	case errors.As(err, &known):
		k, p.Detail = known.kind, known.detail
	case errors.As(err, &noExact):
		k, p.Detail, p.Answer = exactSpent, noExact.detail, noExact.answer
	case errors.As(err, &p.Errors):
		k, p.Detail = badOps, "Each member of errors names an operation by its index."
	case errors.As(err, &body):
		k, p.Detail = badBody, body.Detail
	default:
		// Fiber makes a new 404 for each path, with the path in its text.
		if errors.As(err, &fiberError) && fiberError.Code == fiber.StatusNotFound {
			err = fiber.ErrNotFound
		}
		for _, f := range foreign {
			if errors.Is(err, f.is) {
				k, p.Detail = f.kind, f.detail
				break
			}
		}
	}
	p.Type, p.Title, p.Status = "/problems/"+k.name, k.title, k.status
	return k, p
}

// retryAfter is how many seconds a caller is asked to wait where waiting helps.
const retryAfter = "1"

// writeProblem makes err the answer and returns its status. Headers that are set already stay, as Allow does.
func writeProblem(ctx *fasthttp.RequestCtx, err error) int {
	k, p := problemOf(err)
	body, err := json.Marshal(p)
	if err != nil { // strings and integers only
		panic(err)
	}
	h := &ctx.Response.Header
	ctx.SetStatusCode(k.status)
	ctx.SetContentType("application/problem+json")
	ctx.SetBody(append(body, '\n'))
	h.Set(fiber.HeaderCacheControl, "no-store")
	switch k.status {
	case fiber.StatusServiceUnavailable:
		h.Set(fiber.HeaderRetryAfter, retryAfter)
	case fiber.StatusUnauthorized:
		h.Set(fiber.HeaderWWWAuthenticate, `Bearer realm="rankgate"`)
	}
	return k.status
}
