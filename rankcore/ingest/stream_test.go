package ingest

import (
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
)

// A message's name is read from the server's answer whatever the message holds, and without reading that.
func TestNamesAreReadWithoutData(t *testing.T) {
	r := newRig(t)
	b := testBoard("power", 1)
	l, _ := r.runLog(nil, b)
	s := l.stream
	for _, data := range []string{"", `{"v":1,"mark":"tick"}`, `"data":"`, `","seq":1,"time":"`, strings.Repeat(`"`, 100_000)} {
		ack, err := s.js.PublishMsg(t.Context(), &nats.Msg{
			Subject: subjectOf(b.ID), Data: []byte(data), Header: nats.Header{nats.MsgIdHdr: {`"data":"` + time.Now().String()}},
		})
		if err != nil {
			t.Fatal(err)
		}
		m, err := s.newest(t.Context(), b.ID)
		if err != nil || m.Seq != ack.Sequence || !strings.HasPrefix(m.id, `"data":"`) || m.At().IsZero() {
			t.Errorf("data of %d bytes: %+v, %v", len(data), m, err)
		}
		if same, err := s.messageAt(t.Context(), ack.Sequence); err != nil || same != m {
			t.Errorf("by its sequence it is %+v, %v; the newest is %+v", same, err, m)
		}
	}
	if got := string(withoutData([]byte(`{"message":{"seq":7,"data":"QUJD","time":"x"}}`))); got != `{"message":{"seq":7,"data":"","time":"x"}}` {
		t.Error(got)
	}
	if got := string(withoutData([]byte(`{"error":{}}`))); got != `{"error":{}}` {
		t.Error(got)
	}
}
