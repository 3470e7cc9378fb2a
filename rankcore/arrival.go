package rankcore

import "time"

// Arrival is when a member reached its score, by log order: what is smaller came first. It names the operation that
// gave the score, so every shard that reads the log gives the same one, however often it reads it. On boards whose
// ties share it is 0, and members who share a score are then told apart by their ids alone.
type Arrival uint64

// arrivalBits hold an operation's index in its message.
const arrivalBits = 10

// Arrival is the arrival of an operation: its index in the message of that sequence, in a log made at created.
//
// Inside a log the sequence alone decides, and no clock. A log that is made anew counts its messages from 1 again,
// so the microsecond of its making goes before the sequence: what it brings stands behind what was there, unless
// the old one took in more than a million messages a second all its life. When a log loses its tail and goes
// on, sequences come back; members of the lost and of the new messages may then stand in either order.
func (b *Board) Arrival(created time.Time, seq uint64, index int) Arrival {
	if b.Ties != TiesFirst {
		return 0
	}
	return Arrival((uint64(created.UnixMicro())+seq)<<arrivalBits | uint64(index))
}
