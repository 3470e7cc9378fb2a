package redisstore

import (
	"encoding/binary"
	"errors"
	"math"

	"rankgate/rankcore"
)

// arrivalSize is how many bytes of a member's name are its arrival, on boards where ties go by that: big-endian, so that
// Redis itself, which orders members with one score by their bytes, has them in rank order.
const arrivalSize = 8

// memberOf is the name in a sorted set of whoever stands there.
func memberOf(t rankcore.Ties, a rankcore.Arrival, u rankcore.UserID) string {
	if t != rankcore.TiesFirst {
		return string(u)
	}
	return string(append(binary.BigEndian.AppendUint64(make([]byte, 0, arrivalSize+len(u)), uint64(a)), u...))
}

var errMember = errors.New("a member without an arrival")

// splitMember reads what memberOf wrote.
func splitMember(t rankcore.Ties, member string) (rankcore.Arrival, rankcore.UserID, error) {
	if t != rankcore.TiesFirst {
		return 0, rankcore.UserID(member), nil
	}
	if len(member) <= arrivalSize {
		return 0, "", errMember
	}
	return rankcore.Arrival(binary.BigEndian.Uint64([]byte(member[:arrivalSize]))), rankcore.UserID(member[arrivalSize:]), nil
}

// reachedOf reads what a shard keeps of a user where ties go by arrival: the arrival, and the key as a double.
func reachedOf(value string) (rankcore.Arrival, int64, error) {
	if len(value) != arrivalSize+8 {
		return 0, 0, errMember
	}
	key := math.Float64frombits(binary.BigEndian.Uint64([]byte(value[arrivalSize:])))
	return rankcore.Arrival(binary.BigEndian.Uint64([]byte(value[:arrivalSize]))), int64(key), nil
}
