package rankcore

import (
	"fmt"
	"strings"
)

// nameOf is the name of v in names, which is indexed by value.
func nameOf[T ~uint8](names []string, v T) string {
	if int(v) < len(names) {
		return names[v]
	}
	return fmt.Sprintf("unknown(%d)", v)
}

// parseName sets v to the index of text in names, or says which names there are.
func parseName[T ~uint8](names []string, text []byte, v *T) error {
	for i, name := range names {
		if name == string(text) {
			*v = T(i)
			return nil
		}
	}
	return fmt.Errorf("%q is not one of %s", text, strings.Join(names, ", "))
}
