package redisstore

import (
	"encoding/binary"
	"errors"
	"math"

	"rankgate/rankcore"
)

var errMoves = errors.New("what a step moved is garbled")

// readMoves reads what moves.lua packed.
func readMoves(from, packed string) (*rankcore.Moves, error) {
	m := &rankcore.Moves{}
	var err error
	if m.From, err = rankcore.ParsePosition(from); err != nil {
		return nil, err
	}
	for data := []byte(packed); len(data) > 0; {
		if len(data) < 5 || len(data) < 5+int(data[0]) {
			return nil, errMoves
		}
		id, n := int(data[0]), binary.LittleEndian.Uint32(data[1:])
		season := rankcore.SeasonMoves{Season: rankcore.SeasonID(data[5 : 5+id])}
		data = data[5+id:]
		if n == math.MaxUint32 {
			season.Retired = true
		} else {
			if uint64(len(data)) < 16*uint64(n) {
				return nil, errMoves
			}
			season.Moves = make([]rankcore.Move, n)
			for i := range season.Moves {
				season.Moves[i] = rankcore.Move{Old: keyAt(data[16*i:]), New: keyAt(data[16*i+8:])}
			}
			data = data[16*n:]
		}
		m.Seasons = append(m.Seasons, season)
	}
	return m, nil
}

// keyAt reads a key that was packed as a double. Infinity is none.
func keyAt(data []byte) int64 {
	f := math.Float64frombits(binary.LittleEndian.Uint64(data))
	if math.IsInf(f, 1) {
		return rankcore.NoKey
	}
	return int64(f)
}
