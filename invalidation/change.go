package invalidation

import (
	"slices"

	"rankgate/rankcore"
)

// change is what happened to a board since the last broadcast. It is bounded: more users than are worth
// naming are "all".
type change struct {
	to       rankcore.Position
	users    map[rankcore.UserID]struct{}
	bytes    int // of the users' names
	top, all bool
	reached  []rankcore.Position // by shard; none where nothing is known
}

func (c *change) add(more rankcore.Change) {
	c.to = more.To
	c.top = c.top || more.Top
	c.all = c.all || more.All
	for _, r := range more.Reached {
		for _, shard := range r.Shards {
			if missing := shard + 1 - len(c.reached); missing > 0 {
				c.reached = append(c.reached, make([]rankcore.Position, missing)...)
			}
			c.reached[shard] = rankcore.Newer(c.reached[shard], r.At)
		}
	}
	for _, u := range more.Users {
		if c.all {
			break
		}
		if _, known := c.users[u]; known {
			continue
		}
		if c.users == nil {
			c.users = make(map[rankcore.UserID]struct{}, len(more.Users))
		}
		c.users[u] = struct{}{}
		c.bytes += len(u)
		c.all = len(c.users) > maxNamedUsers || c.bytes > maxNamedBytes
	}
	if c.all {
		c.users = nil
	}
}

func (c *change) change(board rankcore.BoardID) rankcore.Change {
	told := rankcore.Change{Board: board, To: c.to, Top: c.top, All: c.all}
	for u := range c.users {
		told.Users = append(told.Users, u)
	}
	slices.Sort(told.Users)
	at := map[rankcore.Position]int{}
	for shard, p := range c.reached {
		if p.IsNone() {
			continue
		}
		i, known := at[p]
		if !known {
			i = len(told.Reached)
			at[p] = i
			told.Reached = append(told.Reached, rankcore.Reached{At: p})
		}
		told.Reached[i].Shards = append(told.Reached[i].Shards, shard)
	}
	return told
}
