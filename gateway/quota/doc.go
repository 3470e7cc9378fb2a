// Package quota decides whether a requester may have another exact rank today.
//
// A unit is reserved by a request's id before the work, confirmed with the answer, and lapses when it is not. The
// day is the board's, in its own zone, and is told by the store's clock, so that gateways whose clocks differ
// give no more than the quota before midnight and no more after. The package keeps nothing itself: a Store does.
// It imports nothing of ours.
package quota
