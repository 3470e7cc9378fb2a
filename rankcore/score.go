package rankcore

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// MaxScore is the largest magnitude of a score, 2^53-1: every integer up to it is exact in a double,
// which is what a Redis sorted set holds.
const MaxScore = 1<<53 - 1

// Score is what a member has, as the integer that shards hold: on a board of scale 2, "12.34" is 1234.
type Score int64

// InRange reports whether s is within ±MaxScore.
func (s Score) InRange() bool { return s >= -MaxScore && s <= MaxScore }

// ErrScoreRange is what a number beyond ±(2^53-1) gets.
var ErrScoreRange = errors.New("beyond ±9007199254740991 (2^53-1), counted in the board's smallest unit")

// ParseScore reads a plain decimal number with at most scale decimal places: no exponent, no sign but '-',
// no leading zeros. Zero may be written "-0" and is zero.
func ParseScore(text string, scale int) (Score, error) {
	digits, negative := strings.CutPrefix(text, "-")
	whole, fraction, dotted := strings.Cut(digits, ".")
	if !isDigits(whole) || len(whole) > 1 && whole[0] == '0' || dotted && !isDigits(fraction) {
		return 0, errors.New("not a plain decimal number")
	}
	if len(fraction) > scale {
		if scale == 0 {
			return 0, errors.New("not an integer")
		}
		return 0, fmt.Errorf("more than %d decimal places", scale)
	}
	if len(whole) > 16 { // 2^53-1 has 16 digits
		return 0, ErrScoreRange
	}
	var n int64
	for _, part := range [...]string{whole, fraction} {
		for i := range len(part) {
			n = n*10 + int64(part[i]-'0')
			if n > MaxScore {
				return 0, ErrScoreRange
			}
		}
	}
	for range scale - len(fraction) {
		if n *= 10; n > MaxScore {
			return 0, ErrScoreRange
		}
	}
	if negative {
		n = -n
	}
	return Score(n), nil
}

func isDigits(s string) bool {
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return false
		}
	}
	return s != ""
}

// AppendScore appends s as the API speaks it, without quotes: "1234" at scale 0, "12.34" at scale 2.
func AppendScore(dst []byte, s Score, scale int) []byte {
	if scale == 0 {
		return strconv.AppendInt(dst, int64(s), 10)
	}
	if s < 0 {
		dst, s = append(dst, '-'), -s
	}
	unit := int64(1)
	for range scale {
		unit *= 10
	}
	dst = strconv.AppendInt(dst, int64(s)/unit, 10)
	dst = append(dst, '.')
	for part := int64(s) % unit; unit > 1; part %= unit {
		unit /= 10
		dst = append(dst, byte('0'+part/unit))
	}
	return dst
}
