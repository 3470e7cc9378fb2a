// Package aggregate is what the core that applies a board keeps ready for every gateway: the first rows, merged from
// all shards once for all who ask, and how many members stand where. Server keeps and answers, Client asks for rows over
// NATS and is a rankcore.Reader, Counter asks for counts and is a store's counter.
//
// It never decides an order or a rank, and nothing rests on it: whoever gets no answer reads the shards itself. No
// two clocks are compared: an answer says how old it is, and the asker counts that back from when it asked.
// It may import rankcore and NATS.
package aggregate
