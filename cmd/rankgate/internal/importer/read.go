package importer

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/cespare/xxhash/v2"

	"rankgate/rankcore"
)

// bufferSize bounds a line of NDJSON, and one name or number of a JSON object.
const bufferSize = 1 << 20

// Options say how a file is read.
type Options struct {
	Scale   int  // decimal places of the board
	SkipBad bool // leave bad rows out instead of failing
}

// ReadFile reads and checks the rows of a file, or of stdin when the path is "-".
func ReadFile(path string, stdin io.Reader, o Options) (*Rows, error) {
	if path == "-" {
		return Read(stdin, o)
	}
	f, err := os.Open(path)
	if err != nil {
		if pathError := (*os.PathError)(nil); errors.As(err, &pathError) {
			err = pathError.Err // the caller names the file
		}
		return nil, err
	}
	defer f.Close()
	return Read(f, o)
}

// Read reads and checks rows. What they are is told by their content: gzip or not; CSV, NDJSON or one JSON object.
// A bad row fails with a *RowError, or is left out and counted. Text that is not of its format fails always
// where no next row can be found in it.
func Read(src io.Reader, o Options) (*Rows, error) {
	in := bufio.NewReaderSize(src, bufferSize)
	if magic, _ := in.Peek(2); bytes.Equal(magic, []byte{0x1f, 0x8b}) {
		unzipped, err := gzip.NewReader(in)
		if err != nil {
			return nil, fmt.Errorf("gzip: %w", err)
		}
		defer unzipped.Close()
		in = bufio.NewReaderSize(unzipped, bufferSize)
	}
	if bom, _ := in.Peek(3); string(bom) == "\ufeff" {
		if _, err := in.Discard(3); err != nil {
			return nil, err
		}
	}
	rows := &Rows{seen: map[rankcore.UserID]uint32{}, hash: xxhash.New(), scale: o.Scale, skipBad: o.SkipBad}
	if err := rows.read(in); err != nil {
		return nil, err
	}
	rows.seen = nil
	if len(rows.rows) == 0 && rows.skipped == 0 {
		return nil, errors.New("there are no rows")
	}
	return rows, nil
}

// looksLikeArray reports whether text begins with a JSON array of objects. Nothing that is CSV does.
func looksLikeArray(text []byte) bool {
	for _, want := range []byte(`[{"`) {
		if len(text) == 0 || text[0] != want {
			return false
		}
		text = bytes.TrimLeft(text[1:], " \t\r\n")
	}
	return true
}

func (r *Rows) read(in *bufio.Reader) error {
	// Enough to see a first row, and all that a small file has.
	head, err := in.Peek(64 << 10)
	if len(head) == 0 && err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	switch first := bytes.TrimLeft(head, " \t\r\n"); {
	case looksLikeArray(first):
		return errors.New("a JSON array is not read: want CSV, NDJSON or one JSON object of user -> score")
	case !bytes.HasPrefix(first, []byte("{")):
		return r.readCSV(in)
	}
	if looksLikeRows(head) {
		return r.readNDJSON(in)
	}
	return r.readObject(in)
}
