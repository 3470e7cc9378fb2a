package importer

import (
	"bufio"
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
)

// readCSV reads user,score lines. A first line that names its columns may stand above them, and then the
// columns may stand anywhere, among others.
func (r *Rows) readCSV(in *bufio.Reader) error {
	records := csv.NewReader(in)
	records.FieldsPerRecord = -1
	records.ReuseRecord = true
	user, score, width := 0, 1, 2
	for first := true; ; first = false {
		fields, err := records.Read()
		if errors.Is(err, io.EOF) {
			return nil
		}
		var parse *csv.ParseError
		if errors.As(err, &parse) {
			if err := r.bad(place{line: uint32(parse.StartLine)}, parse.Err); err != nil {
				return err
			}
			continue
		}
		if err != nil {
			return err
		}
		if first && isHeader(fields) {
			user, score, width = column(fields, "user"), column(fields, "score"), len(fields)
			continue
		}
		line, _ := records.FieldPos(0)
		at := place{line: uint32(line)}
		if len(fields) != width {
			err = r.bad(at, fmt.Errorf("%d fields, want %d", len(fields), width))
		} else {
			err = r.add([]byte(fields[user]), bytes.TrimSpace([]byte(fields[score])), at)
		}
		if err != nil {
			return err
		}
	}
}

func isHeader(fields []string) bool {
	return column(fields, "user") >= 0 && column(fields, "score") >= 0
}

func column(fields []string, name string) int {
	return slices.IndexFunc(fields, func(f string) bool { return strings.EqualFold(strings.TrimSpace(f), name) })
}
