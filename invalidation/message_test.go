package invalidation

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"rankgate/rankcore"
)

func TestHandWrittenBroadcasts(t *testing.T) {
	cases := []struct {
		payload string
		want    rankcore.Change
	}{
		{`{"users":["a","b/c"]}`, rankcore.Change{Users: []rankcore.UserID{"a", "b/c"}}},
		{`{"top":true}`, rankcore.Change{Top: true}},
		{` {"all": true, "note": "after the repair"} `, rankcore.Change{All: true}},
		{`{"v":1,"source":"s","n":3,"users":["a"],"to":"7-7000"}`, rankcore.Change{Users: []rankcore.UserID{"a"}, To: at(7)}},
		{
			`{"v":1,"source":"s","n":3,"users":["a"],"to":"7-7000","reached":{"7-7000":"AQE="}}`,
			rankcore.Change{Users: []rankcore.UserID{"a"}, To: at(7), Reached: []rankcore.Reached{{At: at(7), Shards: []int{0, 8}}}},
		},
		{`{"v":2,"source":"s","n":3,"segments":[1]}`, rankcore.Change{All: true}}, // a later version may mean more than we read
	}
	for _, c := range cases {
		c.want.Board = "power"
		got, _, err := decodeBroadcast("power", []byte(c.payload))
		if err != nil || !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s: %+v, %v, want %+v", c.payload, got, err, c.want)
		}
	}
}

func TestGarbageIsRefused(t *testing.T) {
	for _, payload := range []string{
		``, `null`, `{}`, `[]`, `true`, `{"users":[]}`, `{"top":false}`, `{"users":"a"}`, `{"users":[1]}`, `{"all":1}`,
		`{"all":true`, `{"all":true}{}`, "\xff\x00", `{"all":true,"n":1}`, `{"all":true,"source":"s"}`, `{"all":true,"n":-1,"source":"s"}`,
		`{"all":true,"to":"seven"}`, `{"all":true,"reached":{"seven":"AQ=="}}`, `{"all":true,"reached":{"7-7000":"!"}}`,
		`{"all":true,"reached":{"7-7000":"` + strings.Repeat("AAAA", rankcore.MaxShards/8/3+1) + `"}}`, `{"all":true,"n":1,"source":"` + strings.Repeat("s", maxSourceBytes+1) + `"}`,
	} {
		if got, _, err := decodeBroadcast("power", []byte(payload)); err == nil {
			t.Errorf("broadcast %q: %+v, want an error", payload, got)
		}
	}
	for _, payload := range []string{
		``, `{}`, `{"boards":{}}`, `{"v":2,"source":"s","n":1}`, `{"source":"s","n":1,"boards":{"power":{"applied":"x"}}}`,
		`{"source":"s","n":1,"boards":{"power":{"behind_ms":-1}}}`, `{"source":"s","n":1,"boards":{"power":{"shards_out":-1}}}`,
		`{"source":"s","n":1,"boards":{"power":{"behind_ms":9223372036854775807}}}`,
	} {
		if got, _, _, err := decodeBeacon([]byte(payload), sentAt(time.Now())); err == nil {
			t.Errorf("beacon %q: %+v, want an error", payload, got)
		}
	}
}

func sentAt(t time.Time) func(map[string]uint64) (time.Time, bool) {
	return func(map[string]uint64) (time.Time, bool) { return t, true }
}

// The sender's clock and the receiver's differ by an hour; the age is what counts.
func TestCaughtUpIsToldAsAnAge(t *testing.T) {
	sent := time.Now()
	told := []rankcore.Progress{
		{Board: "power", Applied: at(9), CaughtUp: sent.Add(-30 * time.Millisecond), ShardsOut: 2, Rebuild: 1, LogLost: true},
		{Board: "new", Applied: rankcore.Position{}},
	}
	payload, err := encodeBeacon(number{V: version, Source: "s", N: 1}, told, nil, sent)
	if err != nil {
		t.Fatal(err)
	}
	received := sent.Add(time.Hour)
	heard, n, _, err := decodeBeacon(payload, sentAt(received))
	if err != nil || n.Source != "s" || n.N != 1 || len(heard) != 2 {
		t.Fatalf("heard %+v from %+v: %v", heard, n, err)
	}
	for _, got := range heard {
		want := told[0]
		want.CaughtUp = received.Add(-30 * time.Millisecond)
		if got.Board == "new" {
			want = told[1]
		}
		if got != want {
			t.Errorf("heard %+v, want %+v", got, want)
		}
	}
}

func TestManyUsersBecomeAll(t *testing.T) {
	var c change
	for range maxNamedUsers {
		c.add(rankcore.Change{Users: []rankcore.UserID{"abe", "zoe"}}) // the same two again and again
	}
	if told := c.change("power"); told.All || len(told.Users) != 2 {
		t.Fatalf("two users: %+v", told)
	}
	long := strings.Repeat("x", rankcore.MaxUserBytes-4)
	for i := range 2 * maxNamedUsers {
		c.add(rankcore.Change{To: at(uint64(i)), Users: []rankcore.UserID{rankcore.UserID(long + string(rune('a'+i%26)) + string(rune('a'+i/26)))}})
	}
	told := c.change("power")
	if !told.All || told.Users != nil || c.users != nil || told.To != at(2*maxNamedUsers-1) {
		t.Fatalf("too many users: all=%v, %d named, to %v", told.All, len(told.Users), told.To)
	}
}

// The longest broadcast of ours passes NATS' default limit of 1 MiB, whatever is in the names.
func TestLongestBroadcastFits(t *testing.T) {
	var c change
	for i := 0; !c.all && len(c.users) < maxNamedUsers; i++ {
		name := strings.Repeat("\u2028", 80) + string(rune('a'+i%26)) + string(rune('a'+i/26)) // U+2028 is escaped to twice its length
		c.add(rankcore.Change{To: at(1), Users: []rankcore.UserID{rankcore.UserID(name)}})
	}
	payload, err := encodeBroadcast(number{V: version, Source: "s", N: 1}, c.change("power"))
	if err != nil || len(payload) > 1<<20 {
		t.Fatalf("%d bytes, %v", len(payload), err)
	}
}

// FuzzMessages feeds bytes to both decoders: they refuse or they understand, and what they understood they
// write and read again unchanged.
func FuzzMessages(f *testing.F) {
	for _, seed := range []string{
		`{"users":["a"]}`, `{"top":true}`, `{"all":true}`, `{"v":1,"source":"s","n":3,"users":["a<b>"],"to":"7-7000"}`,
		`{"v":1,"source":"s","n":4,"boards":{"power":{"applied":"7-7000","behind_ms":12,"shards_out":1}}}`, `{`, `{"v":9}`,
	} {
		f.Add([]byte(seed))
	}
	now := time.Unix(1_800_000_000, 0)
	f.Fuzz(func(t *testing.T, payload []byte) {
		if c, n, err := decodeBroadcast("power", payload); err == nil {
			again, err := encodeBroadcast(n, c)
			if err != nil {
				t.Fatal(err)
			}
			if c2, n2, err := decodeBroadcast("power", again); err != nil || n2 != n || n.V <= version && !reflect.DeepEqual(c2, c) {
				t.Fatalf("%s: %+v became %+v: %v", payload, c, c2, err)
			}
		}
		if boards, n, _, err := decodeBeacon(payload, sentAt(now)); err == nil {
			again, err := encodeBeacon(n, boards, nil, now)
			if err != nil {
				t.Fatal(err)
			}
			if boards2, _, _, err := decodeBeacon(again, sentAt(now)); err != nil || len(boards2) != len(boards) {
				t.Fatalf("%s: %+v became %+v: %v", payload, boards, boards2, err)
			}
		}
	})
}
