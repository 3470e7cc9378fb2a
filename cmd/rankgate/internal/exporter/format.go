package exporter

import (
	"bufio"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// Formats are the names NewWriter knows.
var Formats = []string{"csv", "ndjson"}

// Writer writes rows. import reads what either format writes.
type Writer interface {
	Write(Row) error
	Flush() error // to be called at the end
}

// NewWriter writes to w, in csv with a first line that names the columns.
func NewWriter(w io.Writer, format string) (Writer, error) {
	buffered := bufio.NewWriterSize(w, 64<<10)
	switch format {
	case "csv":
		lines := csv.NewWriter(buffered)
		return &csvWriter{out: buffered, lines: lines}, lines.Write([]string{"rank", "user", "score"})
	case "ndjson":
		lines := json.NewEncoder(buffered)
		lines.SetEscapeHTML(false)
		return &jsonWriter{buffered, lines}, nil
	}
	return nil, fmt.Errorf("the format is one of %s", strings.Join(Formats, ", "))
}

type csvWriter struct {
	out   *bufio.Writer
	lines *csv.Writer
}

func (w *csvWriter) Write(r Row) error {
	return w.lines.Write([]string{strconv.FormatInt(r.Rank, 10), r.User, strings.Trim(string(r.Score), `"`)})
}

func (w *csvWriter) Flush() error {
	w.lines.Flush()
	if err := w.lines.Error(); err != nil {
		return err
	}
	return w.out.Flush()
}

type jsonWriter struct {
	out   *bufio.Writer
	lines *json.Encoder
}

func (w *jsonWriter) Write(r Row) error { return w.lines.Encode(r) }

func (w *jsonWriter) Flush() error { return w.out.Flush() }
