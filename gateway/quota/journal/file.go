package journal

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
	"os"

	"github.com/google/renameio/v2"
)

// The file is lines, each "crc account start end spent": what an account has spent of a day, the last line of
// each counting. The checksum is over the rest of its line, so a torn or damaged line is noticed and left out.

const (
	slackLines = 50_000 // so many lines more than twice what matters, and the file is written anew
	fileMode   = 0o600
)

// appendLine appends the line that says what l has spent.
func appendLine(dst []byte, id ledgerID, l *ledger) []byte {
	rest := fmt.Appendf(nil, "%s %d %d %d", id.account, id.start, l.end, l.Spent)
	return fmt.Appendf(dst, "%08x %s\n", crc32.ChecksumIEEE(rest), rest)
}

var errLine = errors.New("not a line of a quota journal")

func parseLine(line []byte) (id ledgerID, l *ledger, err error) {
	sum, rest, _ := bytes.Cut(line, []byte(" "))
	if string(sum) != fmt.Sprintf("%08x", crc32.ChecksumIEEE(rest)) {
		return id, nil, errLine
	}
	l = new(ledger)
	if _, err := fmt.Sscanf(string(rest), "%s %d %d %d", &id.account, &id.start, &l.end, &l.Spent); err != nil {
		return id, nil, errLine
	}
	return id, l, nil
}

// load reads the file into the ledgers. A line that is not whole is left out, and said.
func (j *Journal) load() error {
	file, err := os.Open(j.path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer file.Close()
	broken := 0
	lines := bufio.NewScanner(file)
	for lines.Scan() {
		if id, l, err := parseLine(lines.Bytes()); err == nil {
			j.ledgers[id] = l
		} else if len(lines.Bytes()) > 0 {
			broken++
		}
	}
	if errors.Is(lines.Err(), bufio.ErrTooLong) { // lines are short: the rest is not a journal's
		broken++
	} else if lines.Err() != nil {
		return lines.Err()
	}
	if broken > 0 {
		j.log.Warn("lines of the quota journal are not whole; what they say is forgotten", "file", j.path, "lines", broken)
	}
	return nil
}

// rewrite replaces the file by one that holds what matters, and opens it; mu is held, or nobody else knows j.
func (j *Journal) rewrite() error {
	var text []byte
	lines := 0
	for id, l := range j.ledgers {
		if l.Spent > 0 {
			text = appendLine(text, id, l)
			lines++
		}
	}
	if err := renameio.WriteFile(j.path, text, fileMode); err != nil {
		return err
	}
	file, err := os.OpenFile(j.path, os.O_WRONLY|os.O_APPEND, fileMode)
	if err != nil {
		return err
	}
	if j.file != nil {
		j.file.Close()
	}
	j.file, j.lines, j.torn = file, lines, false
	return nil
}

// append writes what l has spent; mu is held. When it fails, the file says what it said before.
func (j *Journal) append(id ledgerID, l *ledger) error {
	if j.lines > 2*len(j.ledgers)+slackLines {
		j.sweep(j.now())
		return j.rewrite() // with l as it is now
	}
	var line []byte
	if j.torn {
		line = append(line, '\n') // ends what was begun, which then is a broken line of its own
	}
	line = appendLine(line, id, l)
	if _, err := j.file.Write(line); err != nil {
		j.torn = true
		return err
	}
	j.lines++
	j.torn = false
	return nil
}
