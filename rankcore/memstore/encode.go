package memstore

import (
	"bufio"
	"context"
	"encoding/binary"
	"io"

	"rankgate/rankcore"
)

// encoder writes a state. The first error stays, and ends the work early.
type encoder struct {
	ctx context.Context
	w   *bufio.Writer
	buf []byte
	err error
}

// encode writes st to w. The format is that of decode; it holds scores as keys of the season's order and arrivals
// where ties go by them, each as the difference to the one before, so that it compresses well and loads without a sort.
func encode(ctx context.Context, w io.Writer, st *state) error {
	e := &encoder{ctx: ctx, w: bufio.NewWriterSize(w, 64<<10), err: ctx.Err()}
	e.position(st.position)
	e.flag(st.lost)
	e.uvarint(uint64(len(st.hidden)))
	for u := range st.hidden {
		e.text(string(u))
	}
	e.uvarint(uint64(len(st.seasons)))
	for id, s := range st.seasons {
		e.season(id, &s)
	}
	e.ids(st.ids)
	if e.err != nil {
		return e.err
	}
	return e.w.Flush()
}

func (e *encoder) season(id rankcore.SeasonID, s *frozenSeason) {
	e.text(string(id))
	e.uvarint(uint64(s.kind))
	e.varint(s.expires)
	e.uvarint(uint64(s.order))
	e.position(s.changed)
	e.uvarint(uint64(s.ranked.size))
	arrivals := s.ranked.names.hasArrivals()
	var last entry
	s.ranked.scan(0, func(m entry) bool {
		e.varint(m.key - last.key)
		if arrivals {
			e.varint(int64(m.arrival - last.arrival))
		}
		e.text(string(s.ranked.names.name(m.ref)))
		last = m
		return e.err == nil
	})
	e.uvarint(uint64(len(s.aside)))
	for u, at := range s.aside {
		e.text(string(u))
		e.varint(int64(at.score))
		if arrivals {
			e.uvarint(uint64(at.arrival))
		}
	}
}

func (e *encoder) ids(buckets []bucket) {
	count := 0
	for i := range buckets {
		count += buckets[i].size - len(buckets[i].dead)
	}
	e.uvarint(uint64(count))
	last := int64(0)
	for i := range buckets {
		buckets[i].scan(func(stored int64, r *record) {
			e.write(r.key[:])
			e.varint(stored - last)
			e.uvarint(uint64(r.digest))
			e.uvarint(uint64(r.outcome))
			last = stored
		})
	}
}

func (e *encoder) position(p rankcore.Position) {
	e.uvarint(p.Seq)
	e.varint(p.Time)
}

func (e *encoder) flag(f bool) {
	if f {
		e.uvarint(1)
	} else {
		e.uvarint(0)
	}
}

func (e *encoder) uvarint(v uint64) {
	e.buf = binary.AppendUvarint(e.buf[:0], v)
	e.write(e.buf)
}

func (e *encoder) varint(v int64) {
	e.buf = binary.AppendVarint(e.buf[:0], v)
	e.write(e.buf)
}

func (e *encoder) text(s string) {
	e.uvarint(uint64(len(s)))
	if e.err == nil {
		_, e.err = e.w.WriteString(s)
	}
}

func (e *encoder) write(p []byte) {
	if e.err != nil {
		return
	}
	if e.w.Available() < len(p) { // once for every buffer of data
		if e.err = e.ctx.Err(); e.err != nil {
			return
		}
	}
	_, e.err = e.w.Write(p)
}
