package gateway

import (
	"bytes"
	"sync/atomic"
	"unsafe"

	"github.com/valyala/fasthttp"

	"rankgate/rankcore"
)

// form is an answer as it is sent, with its ETag. It is shared by all who get the answer, and does not change.
type form struct {
	body, tag []byte

	room    int // what the packed body may take; 0: it is not to be packed
	packing atomic.Bool
	packed  atomic.Pointer[[]byte]
}

// newForm is what e holds, about m.
func newForm(e *encoder, m *rankcore.Meta) *form {
	n := len(e.buf)
	e.buf = appendTag(e.buf, m, e.digest())
	text := bytes.Clone(e.buf)
	return &form{body: text[:n:n], tag: text[n:]}
}

// Packing pays from packFrom bytes on, where it saves a quarter.
const packFrom = 1 << 10

// gzipped is the body packed, or nil where that does not pay. The first caller packs; others do not wait for it.
func (f *form) gzipped() []byte {
	if packed := f.packed.Load(); packed != nil {
		return *packed
	}
	if len(f.body) < packFrom || f.room == 0 || !f.packing.CompareAndSwap(false, true) {
		return nil
	}
	packed := bytes.Clone(fasthttp.AppendGzipBytesLevel(nil, f.body, fasthttp.CompressBestSpeed))
	if cap(packed) > min(f.room, len(f.body)*3/4) {
		return nil
	}
	f.packed.Store(&packed)
	return packed
}

// encode is the form of an answer that is sent once.
func (g *Gateway) encode(m *rankcore.Meta, write func(*encoder)) *form {
	e := g.buffers.Get().(*encoder)
	defer g.buffers.Put(e)
	write(e)
	return newForm(e, m)
}

// formed is the form of an answer that has a slot. One that came out of memory is likely to be asked for again, so its
// form is kept with it, where it takes no more than most.
func (g *Gateway) formed(m *rankcore.Meta, slot *rankcore.Slot, most int, write func(*encoder)) *form {
	f := g.encode(m, write)
	own := int(unsafe.Sizeof(*f)+unsafe.Sizeof(f.body)) + cap(f.body) + cap(f.tag)
	if m.Origin != rankcore.FromMemory || own > most {
		return f
	}
	f.room = most - own
	return slot.Fill(f).(*form)
}

// pageForm is the form of a page.
func (g *Gateway) pageForm(page *rankcore.Page, write func(*encoder)) *form {
	if f, ok := page.Slot.Form().(*form); ok {
		return f
	}
	return g.formed(&page.Meta, &page.Slot, page.FormBytes(), write)
}

// standingForm is the form of a standing.
func (g *Gateway) standingForm(b *rankcore.Board, s *rankcore.Standing) *form {
	if f, ok := s.Slot.Form().(*form); ok {
		return f
	}
	return g.formed(&s.Meta, &s.Slot, s.FormBytes(), func(e *encoder) { e.rank(b, s) })
}
