package loadtest

import "fmt"

// mistakes are all that is wrong with a configuration; errors.Join makes one error of them.
type mistakes []error

// add takes note of a mistake where there is one.
func (m *mistakes) add(bad bool, format string, args ...any) {
	if bad {
		*m = append(*m, fmt.Errorf(format, args...))
	}
}
