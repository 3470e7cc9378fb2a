package address

import (
	"net/netip"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func TestOneCustomerIsOneAddress(t *testing.T) {
	for text, want := range map[string]string{
		"192.0.2.1":               "192.0.2.1",
		"::ffff:192.0.2.1":        "192.0.2.1",
		"2001:db8:1:2:3:4:5:6":    "2001:db8:1:2::",
		"2001:db8:1:2::1":         "2001:db8:1:2::",
		"2001:db8:1:3::1":         "2001:db8:1:3::",
		"fe80::1%eth0":            "fe80::",
		"fe80::2%a-name-of-a-nic": "fe80::",
	} {
		if got := Of(netip.MustParseAddr(text)); got.String() != want {
			t.Errorf("%s counts for %s, want %s", text, got, want)
		}
	}
	if Of(netip.Addr{}).IsValid() {
		t.Error("no address counts for one")
	}
}

// bucket is the obvious model: it fills with time, and a question takes one out.
type bucket struct {
	level float64
	at    time.Time
}

func (b *bucket) take(now time.Time, perSecond, most float64) bool {
	b.level = min(most, b.level+now.Sub(b.at).Seconds()*perSecond)
	b.at = now
	if b.level < 1-1e-6 {
		return false
	}
	b.level--
	return true
}

func TestRatesAreATokenBucket(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		perSecond := rapid.SampledFrom([]int{1, 2, 5, 100, 1000}).Draw(rt, "perSecond")
		r := NewRates(perSecond)
		now := time.Unix(1_800_000_000, 0)
		most := float64(r.Burst())
		if r.Burst() != 2*perSecond {
			rt.Fatalf("burst %d", r.Burst())
		}
		model := map[netip.Addr]*bucket{}
		for range 300 {
			now = now.Add(time.Duration(rapid.IntRange(0, 800).Draw(rt, "passes")) * time.Second / time.Duration(1000*perSecond))
			addr := netip.AddrFrom4([4]byte{192, 0, 2, rapid.Byte().Draw(rt, "who") % 3})
			if model[addr] == nil {
				model[addr] = &bucket{level: most, at: now}
			}
			wait := r.Take(addr, now)
			if taken := model[addr].take(now, float64(perSecond), most); taken != (wait == 0) {
				rt.Fatalf("wait %v, but taken is %v with %v left", wait, taken, model[addr].level)
			}
			if wait > time.Second/time.Duration(perSecond) {
				rt.Fatalf("wait %v for one question", wait)
			}
			if wait > 0 {
				now = now.Add(wait)
				if again := r.Take(addr, now); again != 0 {
					rt.Fatalf("after the wait of %v another of %v", wait, again)
				}
				model[addr].take(now, float64(perSecond), most)
			}
		}
	})
}

// A stranger with any number of addresses makes nothing grow, and who asked too much is not forgotten for it as
// long as there are not that many.
func TestRatesAreBounded(t *testing.T) {
	r := NewRates(1)
	now := time.Unix(1_800_000_000, 0)
	greedy := netip.MustParseAddr("192.0.2.1")
	for wait := time.Duration(0); wait == 0; wait = r.Take(greedy, now) {
		continue
	}
	kept := func() (n int) {
		for i := range r.each {
			n += len(r.each[i].young) + len(r.each[i].old)
		}
		return n
	}
	stranger := func(i int) netip.Addr {
		return netip.AddrFrom16([16]byte{0x20, 1, 0x0d, 0xb8, byte(i >> 24), byte(i >> 16), byte(i >> 8), byte(i)})
	}
	for i := range 10_000 {
		r.Take(stranger(i), now)
	}
	if r.Take(greedy, now) == 0 {
		t.Error("10,000 others make the greedy one be forgotten")
	}
	for i := range 200_000 {
		r.Take(stranger(i), now)
	}
	if n := kept(); n > 2*stripes*maxRecent {
		t.Errorf("%d addresses are kept", n)
	}
	for i := range stripes * 40 { // time forgets them
		now = now.Add(burst / 100)
		r.Take(stranger(i), now)
	}
	if n := kept(); n > stripes*80 {
		t.Errorf("%d addresses are kept of %d that asked lately", n, stripes*40)
	}
	one := netip.MustParseAddr("2001:db8:1:2::")
	for range 1000 {
		one = one.Next()
		r.Take(one, now)
	}
	if r.Take(netip.MustParseAddr("2001:db8:1:2:ffff::"), now) == 0 {
		t.Error("every address of a network has an allowance of its own")
	}
}

func TestCounts(t *testing.T) {
	c := NewCounts(2)
	one, other := netip.MustParseAddr("2001:db8::1"), netip.MustParseAddr("2001:db8::2")
	if !c.Enter(one) || !c.Enter(other) || c.Enter(one) {
		t.Error("one network has not two")
	}
	if !c.Enter(netip.MustParseAddr("192.0.2.1")) {
		t.Error("another has none")
	}
	c.Leave(one)
	if !c.Enter(other) {
		t.Error("what was left is not free")
	}
	c.Leave(one)
	c.Leave(other)
	c.Leave(netip.MustParseAddr("::ffff:192.0.2.1"))
	if len(c.each) != 0 {
		t.Errorf("left over: %v", c.each)
	}
}

func BenchmarkTake(b *testing.B) {
	r, now := NewRates(1_000_000), time.Now()
	b.ReportAllocs()
	for i := range b.N {
		r.Take(netip.AddrFrom4([4]byte{10, 0, byte(i >> 8), byte(i)}), now)
	}
}
