package memstore_test

import (
	"testing"

	"rankgate/rankcore"
	"rankgate/rankcore/memstore"
	"rankgate/rankcore/storetest"
)

func TestStore(t *testing.T) {
	storetest.Run(t, func(t *testing.T, boards ...*rankcore.Board) storetest.Store {
		t.Helper()
		s, err := memstore.New(memstore.Config{Boards: boards})
		if err != nil {
			t.Fatal(err)
		}
		return s
	})
}
