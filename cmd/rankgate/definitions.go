package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"

	"github.com/google/renameio/v2"

	"rankgate/rankcore"
)

// definition is what a board is fixed to once it holds something: with another one its members would be other scores,
// or stand in other places, than their operations made them.
type definition struct {
	Order  rankcore.Order  `json:"order"`
	Update rankcore.Update `json:"update"`
	Ties   rankcore.Ties   `json:"ties"`
	Scale  int             `json:"scale"`
	Shards int             `json:"shards"`
}

func definitionOf(b *rankcore.Board) definition {
	return definition{b.Order, b.Update, b.Ties, b.Scale, b.Shards}
}

// differs is the setting in which two definitions differ, and its values; "" when there is none.
func (d definition) differs(o definition) (key, created, now string) {
	switch {
	case d.Order != o.Order:
		return "order", d.Order.String(), o.Order.String()
	case d.Update != o.Update:
		return "update", d.Update.String(), o.Update.String()
	case d.Ties != o.Ties:
		return "ties", d.Ties.String(), o.Ties.String()
	case d.Scale != o.Scale:
		return "scale", strconv.Itoa(d.Scale), strconv.Itoa(o.Scale)
	case d.Shards != o.Shards:
		return "shards", strconv.Itoa(d.Shards), strconv.Itoa(o.Shards)
	}
	return "", "", ""
}

// keepDefinitions compares boards with what the embedded store in dir was filled as, and notes those that are new. A
// board without a checkpoint yet may still become another one: what the log has of it is applied anew. One that was
// filled before there were such notes is taken as it is configured.
func keepDefinitions(dir string, boards []*rankcore.Board) error {
	path := filepath.Join(dir, "boards.json")
	noted := map[rankcore.BoardID]definition{}
	text, err := os.ReadFile(path)
	if err == nil {
		err = json.Unmarshal(text, &noted)
	}
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("%s, which notes what boards were created as: %w", path, err)
	}
	var wrong []error
	for _, b := range boards {
		filled, err := filepath.Glob(filepath.Join(dir, string(b.ID)+".*.ckpt"))
		if err != nil {
			return err
		}
		now := definitionOf(b)
		if created, known := noted[b.ID]; known && len(filled) > 0 {
			if key, was, is := created.differs(now); key != "" {
				wrong = append(wrong, fmt.Errorf("board %q was created with %s: %s, not %s, which is fixed once it holds scores: configure %[2]s: %[3]s, or give the other board another name",
					b.ID, key, was, is))
			}
		}
		noted[b.ID] = now
	}
	if len(wrong) > 0 {
		return errors.Join(wrong...)
	}
	if text, err = json.MarshalIndent(noted, "", "  "); err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	return renameio.WriteFile(path, append(text, '\n'), 0o600)
}
