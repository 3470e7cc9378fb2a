package config

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Problem is one mistake and where it stands.
type Problem struct {
	Where string // "rankgate.yaml:12", "RANKGATE_LOG__URL" or "--listen"
	Text  string
	line  int // in the file; 0 elsewhere
}

func (p Problem) String() string { return p.Where + ": " + p.Text }

// Problems are all mistakes of a configuration, in the order of the file, then variables and flags.
type Problems []Problem

func (ps Problems) Error() string {
	lines := make([]string, len(ps))
	for i, p := range ps {
		lines[i] = p.String()
	}
	return strings.Join(lines, "\n")
}

// place is where a value was given.
type place struct {
	file string
	line int
	name string // a variable or a flag, instead of file and line
}

func (p place) String() string {
	switch {
	case p.name != "":
		return p.name
	case p.line > 0:
		return fmt.Sprintf("%s:%d", p.file, p.line)
	case p.file != "":
		return p.file
	default:
		return "configuration"
	}
}

func sortProblems(ps Problems) {
	slices.SortStableFunc(ps, func(a, b Problem) int {
		if (a.line == 0) != (b.line == 0) {
			return cmp.Compare(b.line, a.line) // the file first
		}
		return cmp.Compare(a.line, b.line)
	})
}
