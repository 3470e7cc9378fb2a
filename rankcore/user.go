package rankcore

import (
	"errors"
	"unicode"
	"unicode/utf8"
)

// MaxUserBytes is the longest user id, in bytes.
const MaxUserBytes = 256

// UserID names a member of a board. Ids are compared byte by byte, never folded or normalised.
type UserID string

var errUserID = errors.New("a user id is 1 to 256 bytes of UTF-8 without control characters, and neither . nor .. alone")

// ParseUserID returns s as a UserID, or an error that says what a user id looks like. It does not decode anything.
func ParseUserID(s string) (UserID, error) {
	if len(s) == 0 || len(s) > MaxUserBytes || s == "." || s == ".." {
		return "", errUserID
	}
	for i := 0; i < len(s); {
		if c := s[i]; c < utf8.RuneSelf { // most ids are ASCII
			if c < ' ' || c == 0x7f {
				return "", errUserID
			}
			i++
			continue
		}
		r, n := utf8.DecodeRuneInString(s[i:])
		if r == utf8.RuneError && n == 1 || unicode.IsControl(r) {
			return "", errUserID
		}
		i += n
	}
	return UserID(s), nil
}
