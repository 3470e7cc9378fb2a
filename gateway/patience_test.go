package gateway

import (
	"net"
	"slices"
	"testing"
	"time"
)

// deadlined notes which deadlines take effect.
type deadlined struct {
	net.Conn
	read, write []time.Duration // since start
	start       time.Time
}

func (d *deadlined) since(t time.Time) time.Duration {
	if t.IsZero() {
		return 0
	}
	return t.Sub(d.start)
}

func (d *deadlined) SetReadDeadline(t time.Time) error {
	d.read = append(d.read, d.since(t))
	return nil
}

func (d *deadlined) SetWriteDeadline(t time.Time) error {
	d.write = append(d.write, d.since(t))
	return nil
}

func (d *deadlined) Read([]byte) (int, error) { return 0, nil }

// A deadline takes effect before whatever it is to bound, however many were wanted in between; it is never later than
// wanted, and sooner by less than a step.
func TestDeadlinesTakeEffectWhenSomethingIsWaitedFor(t *testing.T) {
	d := &deadlined{start: time.Now().Round(0)}
	c := &conn{Conn: d}
	readBy := func(after ...time.Duration) {
		for _, wanted := range after {
			if err := c.SetReadDeadline(d.start.Add(wanted)); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := c.Read(nil); err != nil {
			t.Fatal(err)
		}
	}
	readBy(time.Minute)
	readBy(5*time.Second, time.Minute)                     // what was wanted for a request that was there already
	readBy(time.Minute + patienceStep - 1)                 // nearly the same
	readBy(5 * time.Second)                                // the rest of a request
	readBy(5 * time.Second)                                // more of it
	readBy(time.Minute + patienceStep)                     // and the next one
	readBy(time.Minute + patienceStep - time.Nanosecond)   // sooner is never put off
	if err := c.SetReadDeadline(time.Time{}); err != nil { // for ever
		t.Fatal(err)
	}
	readBy()
	want := []time.Duration{time.Minute, 5 * time.Second, time.Minute + patienceStep, time.Minute + patienceStep - 1, 0}
	if !slices.Equal(d.read, want) {
		t.Errorf("deadlines for reading %v, want %v", d.read, want)
	}
	for _, after := range []time.Duration{time.Second, time.Second + 1, 2 * time.Second, time.Second} {
		if err := c.SetWriteDeadline(d.start.Add(after)); err != nil {
			t.Fatal(err)
		}
	}
	if want = []time.Duration{time.Second, 2 * time.Second, time.Second}; !slices.Equal(d.write, want) {
		t.Errorf("deadlines for writing %v, want %v", d.write, want)
	}
}
