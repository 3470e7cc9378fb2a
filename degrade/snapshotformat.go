package degrade

import (
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/cespare/xxhash/v2"

	"rankgate/rankcore"
)

// A snapshot file is the line of its format, what the rows are of and when, the rows, and the xxhash64 of it all.
// It is not compressed: a thousand rows are some 20 KB, and syncing them costs far more than their size.
const (
	snapshotLine   = "rankgate snapshot "
	snapshotFormat = "2\n"
	snapshotSum    = 8
)

var (
	errNotWhole      = errors.New("not a whole snapshot")
	errOtherFormat   = errors.New("another version of rankgate wrote it")
	errOtherBoard    = errors.New("it was written for another board, order, rule for ties or scale")
	errSnapshotBroke = errors.New("its content does not follow the format")
)

// appendSnapshot writes what parseSnapshot reads.
func appendSnapshot(dst []byte, b *rankcore.Board, page *rankcore.Page) []byte {
	begin := len(dst)
	dst = append(dst, snapshotLine+snapshotFormat...)
	dst = appendText(dst, string(b.ID))
	dst = append(dst, byte(b.Order), byte(b.Ties), byte(b.Scale))
	dst = appendText(dst, string(page.Season))
	dst = binary.AppendVarint(dst, page.AsOf.UnixNano())
	dst = binary.AppendUvarint(dst, page.Version.Seq)
	dst = binary.AppendVarint(dst, page.Version.Time)
	dst = binary.AppendUvarint(dst, uint64(page.Total))
	dst = binary.AppendUvarint(dst, uint64(len(page.Entries)))
	for _, e := range page.Entries {
		dst = binary.AppendUvarint(dst, uint64(e.Rank))
		dst = appendText(dst, string(e.User))
		dst = binary.AppendVarint(dst, int64(e.Score))
		dst = binary.AppendUvarint(dst, uint64(e.Arrival))
	}
	return binary.LittleEndian.AppendUint64(dst, xxhash.Sum64(dst[begin:]))
}

func appendText(dst []byte, s string) []byte {
	return append(binary.AppendUvarint(dst, uint64(len(s))), s...)
}

// parseSnapshot reads a snapshot of the board. What comes of it is stale, whatever was said when it was taken.
func parseSnapshot(data []byte, b *rankcore.Board) (*rankcore.Page, error) {
	if len(data) < len(snapshotLine+snapshotFormat)+snapshotSum || string(data[:len(snapshotLine)]) != snapshotLine {
		return nil, errNotWhole
	}
	text, ok := strings.CutPrefix(string(data[:len(data)-snapshotSum]), snapshotLine+snapshotFormat)
	if !ok {
		return nil, errOtherFormat
	}
	content := data[:len(data)-snapshotSum]
	if xxhash.Sum64(content) != binary.LittleEndian.Uint64(data[len(content):]) {
		return nil, fmt.Errorf("%w: the checksum differs", errNotWhole)
	}
	r := &snapshotReader{rest: text}
	if r.text() != string(b.ID) || r.byte() != byte(b.Order) || r.byte() != byte(b.Ties) || r.byte() != byte(b.Scale) {
		return nil, errOtherBoard
	}
	page := &rankcore.Page{}
	page.Season = rankcore.SeasonID(r.text())
	page.Status, page.Reason = rankcore.Stale, rankcore.FromSnapshot
	page.AsOf = time.Unix(0, r.varint())
	page.Version = rankcore.Position{Seq: r.uvarint(), Time: r.varint()}
	page.Total = int64(r.uvarint())
	page.Entries = make([]rankcore.Entry, r.count())
	for i := range page.Entries {
		page.Entries[i] = rankcore.Entry{
			Rank: int64(r.uvarint()), User: rankcore.UserID(r.text()), Score: rankcore.Score(r.varint()),
			Arrival: rankcore.Arrival(r.uvarint()),
		}
	}
	if r.bad || len(r.rest) > 0 {
		return nil, errSnapshotBroke
	}
	return page, nil
}

// snapshotReader reads from the front; bad says that it ended too early. Texts are views of what it reads.
type snapshotReader struct {
	rest string
	bad  bool
}

func (r *snapshotReader) cut(n int) string {
	if n > len(r.rest) {
		r.bad, r.rest = true, ""
		return ""
	}
	head := r.rest[:n]
	r.rest = r.rest[n:]
	return head
}

func (r *snapshotReader) text() string { return r.cut(r.count()) }

func (r *snapshotReader) byte() byte {
	if b := r.cut(1); b != "" {
		return b[0]
	}
	return 0
}

// count is the number of things that follow. Each takes a byte at least, so a larger number is wrong.
func (r *snapshotReader) count() int {
	n := r.uvarint()
	if n > uint64(len(r.rest)) {
		r.bad, r.rest = true, ""
		return 0
	}
	return int(n)
}

func (r *snapshotReader) uvarint() uint64 {
	n, size := binary.Uvarint([]byte(r.rest[:min(len(r.rest), binary.MaxVarintLen64)]))
	if size <= 0 {
		r.bad, r.rest = true, ""
		return 0
	}
	r.rest = r.rest[size:]
	return n
}

func (r *snapshotReader) varint() int64 {
	n := r.uvarint()
	return int64(n>>1) ^ -int64(n&1) // as encoding/binary writes it
}
