package aggregate

import (
	"errors"
	"reflect"
	"testing"

	"pgregory.net/rapid"

	"rankgate/rankcore"
)

var anyPosition = rapid.Custom(func(rt *rapid.T) rankcore.Position {
	return rankcore.Position{Seq: rapid.Uint64().Draw(rt, "seq"), Time: rapid.Int64().Draw(rt, "time")}
})

// Whatever a question about counts and its answer have, they have on the other side; a part of them is neither.
func TestCountsCross(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		asked := question{
			kind:   rapid.ByteRange(askAbove, askPlaces).Draw(rt, "kind"),
			season: rankcore.SeasonID(rapid.StringN(0, 16, maxSeasonName).Draw(rt, "season")),
			n:      rapid.Int64().Draw(rt, "n"), shard: rapid.IntRange(0, rankcore.MaxShards-1).Draw(rt, "shard"),
			changed: anyPosition.Draw(rt, "changed"),
		}
		if asked.kind == askStretch {
			key, rows := rapid.Int64Range(-rankcore.MaxScore, rankcore.MaxScore), rapid.Int64Range(0, rankcore.MaxRows+1)
			asked.n, asked.end = key.Draw(rt, "key"), key.Draw(rt, "end")
			asked.back, asked.forth = rows.Draw(rt, "back"), rows.Draw(rt, "forth")
		}
		if asked.kind == askPlaces {
			asked.keys = rapid.SliceOfN(rapid.Int64(), 1, rankcore.MaxUsers).Draw(rt, "keys")
		}
		if asked.kind == askStretch || asked.kind == askPlaces {
			for shard := rapid.IntRange(0, 9).Draw(rt, "seen"); shard < rankcore.MaxShards && rapid.IntRange(0, 3).Draw(rt, "one more") > 0; shard += rapid.IntRange(1, 99).Draw(rt, "further") {
				asked.seen = append(asked.seen, rankcore.Seen{Shard: shard, Changed: anyPosition.Draw(rt, "then")})
			}
		}
		whole := encodeQuestion(asked)
		if got, err := decodeQuestion(whole); err != nil || !reflect.DeepEqual(got, asked) {
			rt.Fatalf("%+v, %v, want %+v", got, err, asked)
		}
		cut := rapid.IntRange(0, len(whole)-1).Draw(rt, "cut")
		if _, err := decodeQuestion(whole[:cut]); err == nil {
			rt.Fatalf("%d of %d bytes are a question", cut, len(whole))
		}
		above := rankcore.Above{
			Before: rapid.Int64Range(0, 1e9).Draw(rt, "before"), Tied: rapid.Int64Range(0, 1e9).Draw(rt, "tied"), Version: anyPosition.Draw(rt, "version"),
		}
		above.Total = above.Before + above.Tied + rapid.Int64Range(0, 1e9).Draw(rt, "behind")
		crosses(rt, appendAbove(nil, above), above, (*reader).above)

		head := rankcore.Head{Last: asked.n}
		for range rapid.IntRange(0, 8).Draw(rt, "shards") {
			s := rankcore.ShardHead{Rows: rapid.Int64Range(0, 1e6).Draw(rt, "rows"), Changed: anyPosition.Draw(rt, "changed")}
			s.Members = s.Rows + rapid.Int64Range(0, 1e9).Draw(rt, "others")
			head.Shards = append(head.Shards, s)
		}
		crosses(rt, appendHead(nil, head), head, (*reader).head)

		stretch := rankcore.Stretch{
			First: asked.n, Last: rapid.Int64().Draw(rt, "last"), Before: above.Before, Rows: above.Tied, Total: above.Total,
			Version: above.Version, Changed: rapid.SliceOfN(anyPosition, 1, 8).Draw(rt, "changed by shard"),
		}
		crosses(rt, appendStretch(nil, stretch), stretch, (*reader).stretch)

		places := rankcore.Places{
			Before: []int64{above.Before, 0}, Tied: []int64{above.Tied, above.Total}, Total: above.Total, Version: above.Version, Changed: stretch.Changed,
		}
		crosses(rt, appendPlaces(nil, places), places, (*reader).places)

		segments := rankcore.SegmentCounts{Version: above.Version, Changed: rapid.SliceOfN(anyPosition, 1, 8).Draw(rt, "by shard"), Segments: []rankcore.SegmentCount{}}
		for g := rankcore.Segment(-3000); g < 3000; g += rankcore.Segment(rapid.IntRange(1, 2000).Draw(rt, "next")) {
			n := rapid.Int64Range(1, 1e9).Draw(rt, "members")
			segments.Segments, segments.Total = append(segments.Segments, rankcore.SegmentCount{Segment: g, Members: n}), segments.Total+n
		}
		crosses(rt, appendSegments(nil, segments), segments, (*reader).segments)
	})
}

// crosses checks that the payload is read as what it was made of, and no part of it as anything.
func crosses[T any](rt *rapid.T, payload []byte, want T, read func(*reader) T) {
	r := reader{rest: payload}
	if got := read(&r); r.garbled || len(r.rest) > 0 || !reflect.DeepEqual(got, want) {
		rt.Fatalf("%+v, garbled %v, %d bytes left, want %+v", got, r.garbled, len(r.rest), want)
	}
	cut := rapid.IntRange(0, len(payload)-1).Draw(rt, "cut of an answer")
	r = reader{rest: payload[:cut]}
	if read(&r); !r.garbled {
		rt.Fatalf("%d of %d bytes are an answer", cut, len(payload))
	}
}

func FuzzDecodeQuestion(f *testing.F) {
	f.Add(encodeQuestion(question{kind: askAbove, season: "all", n: -7, shard: 3, changed: rankcore.Position{Seq: 1, Time: 2}}))
	f.Add(encodeQuestion(question{kind: askHead, season: "day:2026-11-30", n: 100}))
	f.Add(encodeQuestion(question{kind: askSegments, season: "week:2026-11-30"}))
	f.Add(encodeQuestion(question{kind: askStretch, season: "all", n: -7, end: 7, back: 1, forth: 100}))
	f.Add(encodeQuestion(question{kind: askPlaces, season: "all", keys: []int64{-7, 0, 7}}))
	f.Add([]byte{version, askAbove, 200, 1})
	f.Fuzz(func(t *testing.T, data []byte) {
		q, err := decodeQuestion(data)
		if err == nil && (len(q.keys) > rankcore.MaxUsers || q.shard < 0 || q.shard >= rankcore.MaxShards || len(q.season) > maxSeasonName) {
			t.Errorf("%x: %+v", data, q)
		}
	})
}

func FuzzReadCounts(f *testing.F) {
	f.Add(appendAbove([]byte{version, answered}, rankcore.Above{Before: 1, Tied: 2, Total: 5}))
	f.Add(appendSegments([]byte{version, answered}, rankcore.SegmentCounts{
		Total: 3, Changed: make([]rankcore.Position, 2), Segments: []rankcore.SegmentCount{{Segment: -1, Members: 1}, {Segment: 9, Members: 2}},
	}))
	f.Add(appendHead([]byte{version, answered}, rankcore.Head{Last: 5, Shards: []rankcore.ShardHead{{Rows: 1, Members: 2}}}))
	f.Add(appendStretch([]byte{version, answered}, rankcore.Stretch{Rows: 1, Total: 2, Changed: make([]rankcore.Position, 2)}))
	f.Add(appendPlaces([]byte{version, answered}, rankcore.Places{Before: []int64{1}, Tied: []int64{2}, Total: 5, Changed: make([]rankcore.Position, 2)}))
	f.Add([]byte{version, moved})
	f.Add([]byte{version, answered, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1})
	f.Fuzz(func(t *testing.T, data []byte) {
		c := NewCounter(CounterConfig{})
		var a rankcore.Above
		if err := c.read(data, func(r *reader) { a = r.above() }); err == nil && (a.Before < 0 || a.Tied < 0 || a.Total < a.Before+a.Tied) {
			t.Errorf("%x: %+v", data, a)
		}
		var h rankcore.Head
		if err := c.read(data, func(r *reader) { h = r.head() }); err == nil && len(h.Shards) > len(data) {
			t.Errorf("%x: %+v", data, h)
		}
		var st rankcore.Stretch
		if err := c.read(data, func(r *reader) { st = r.stretch() }); err == nil && (st.Before < 0 || st.Rows < 0 || st.Total < st.Before+st.Rows) {
			t.Errorf("%x: %+v", data, st)
		}
		var p rankcore.Places
		if err := c.read(data, func(r *reader) { p = r.places() }); err == nil && (len(p.Before) != len(p.Tied) || len(p.Before) > len(data)) {
			t.Errorf("%x: %+v", data, p)
		}
		var s rankcore.SegmentCounts
		if err := c.read(data, func(r *reader) { s = r.segments() }); err != nil {
			return
		}
		sum := int64(0)
		for _, g := range s.Segments {
			sum += g.Members
		}
		if sum != s.Total || len(s.Changed) > len(data) {
			t.Errorf("%x: %+v", data, s)
		}
	})
}

func TestGarbledCountsAreCountedAndNotBelieved(t *testing.T) {
	counter := NewCounter(CounterConfig{})
	for n, data := range [][]byte{
		nil,
		{version},
		{version + 1, answered},
		{version, unknown + 1},
		[]byte("{}"),
		appendAbove([]byte{version, answered}, rankcore.Above{Before: 3, Tied: 1, Total: 3}),
		append(appendAbove([]byte{version, answered}, rankcore.Above{Tied: 1, Total: 3}), 0),
	} {
		if err := counter.read(data, func(r *reader) { r.above() }); !errors.Is(err, errGarbled) || counted(t, counter.metrics.garbled) != float64(n+1) {
			t.Errorf("%x: %v", data, err)
		}
	}
	two := []rankcore.SegmentCount{{Segment: 5, Members: 1}, {Segment: 4, Members: 2}}
	for _, s := range []rankcore.SegmentCounts{{Total: 3, Segments: two}, {Total: 2, Segments: two[:1]}, {Total: 0, Segments: two[1:]}} {
		if err := counter.read(appendSegments([]byte{version, answered}, s), func(r *reader) { r.segments() }); !errors.Is(err, errGarbled) {
			t.Errorf("%+v: %v", s, err)
		}
	}
	if err := counter.read([]byte{version, moved}, nil); !errors.Is(err, rankcore.ErrMoved) {
		t.Errorf("moved: %v", err)
	}
	if err := counter.read([]byte{version, refused}, nil); !errors.Is(err, errRefused) {
		t.Errorf("refused: %v", err)
	}
}
