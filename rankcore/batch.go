package rankcore

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// RanksQuery asks where several users stand, as precisely as Auto is.
type RanksQuery struct {
	Board  *Board
	Season SeasonID
	Users  []UserID  // 1 to MaxUsers, repetitions allowed. Not modified
	Since  time.Time // see TopQuery
}

// Standings are where the users of a batch stand. They are shared: they must not be modified.
// While Updating there are no Users.
type Standings struct {
	Meta
	Users []*Standing // in the order asked; nil where the user is not ranked. Their Meta is that of the batch, or see Unknown
}

// Unknown stands in a batch for a user of whom nothing is known now, unlike of others: it is Updating by itself.
func Unknown(u UserID, season SeasonID, why Reason) *Standing {
	return &Standing{Meta: Meta{Season: season, Status: Updating, Reason: why}, User: u}
}

// Known reports whether the user's numbers mean something.
func (s *Standing) Known() bool { return s != nil && s.Status != Updating }

// Whole reports whether something is known of every user.
func (s *Standings) Whole() bool {
	return !slices.ContainsFunc(s.Users, func(st *Standing) bool { return st != nil && !st.Known() })
}

// With is the same batch with another Meta; s stays as it is.
func (s *Standings) With(m Meta) *Standings {
	batch := &Standings{Meta: m, Users: make([]*Standing, len(s.Users))}
	for i, st := range s.Users {
		if batch.Users[i] = st; st.Known() {
			batch.Users[i] = st.With(m)
		}
	}
	return batch
}

// Places are the places among those asked: 1 + the number of different users among them whose rank is better, so that
// ties share a place where they share a rank. A user who is not ranked, or of whom nothing is known, has place 0.
func (s *Standings) Places(b *Board) []int {
	asked := make(map[UserID]Entry, len(s.Users))
	for _, st := range s.Users {
		if st.Known() {
			asked[st.User] = Entry{User: st.User, Score: st.Score, Arrival: st.Arrival}
		}
	}
	places := make([]int, len(s.Users))
	for i, st := range s.Users {
		if !st.Known() {
			continue
		}
		places[i] = 1
		for _, other := range asked {
			if b.Ahead(other, asked[st.User]) {
				places[i]++
			}
		}
	}
	return places
}

const usersWanted = `want {"users":[...]} with 1 to 200 user ids and no other field`

// ParseUsers reads the body of a batch: {"users":["a","b"]}, strictly. It fails with a *BodyError.
func ParseUsers(body []byte) ([]UserID, error) {
	s := scanner{text: string(body)}
	var users []UserID
	seen := false
	err := s.members(func(name string) error {
		if name != "users" || seen {
			return &BodyError{"an unknown or repeated field: " + usersWanted}
		}
		seen = true
		return s.elements(func() error {
			user, err := s.userID(len(users))
			users = append(users, user)
			return err
		})
	})
	var wrong *BodyError
	switch {
	case errors.As(err, &wrong):
		return nil, wrong
	case err != nil || s.peek() != 0 || s.at < len(s.text):
		return nil, s.unwanted(usersWanted)
	case len(users) == 0:
		return nil, &BodyError{"no users: " + usersWanted}
	}
	return users, nil
}

// userID reads the user of the given index.
func (s *scanner) userID(index int) (UserID, error) {
	if index == MaxUsers {
		return "", &BodyError{"too many users: " + usersWanted}
	}
	if s.peek() != '"' {
		return "", &BodyError{fmt.Sprintf("user %d is not a string: %s", index, usersWanted)}
	}
	text, err := s.str()
	if err != nil {
		return "", err
	}
	user, err := ParseUserID(strings.Clone(text)) // who keeps one user must not keep the whole body
	if err != nil {
		return "", &BodyError{fmt.Sprintf("user %d: %v", index, err)}
	}
	return user, nil
}
