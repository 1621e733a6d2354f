package store_test

import (
	"errors"
	"reflect"
	"testing"

	"github.com/sluicelb/sluice/mgmt/store"
)

func TestOldRevisionsGoAndTheKeptOnesStayReadable(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	s.Unsynced()
	const keep, last, first = 40, 333, 257 // 294 is built on 257, which is whole
	if was := s.Keep(keep); was != 1000 {
		t.Errorf("%d revisions would be kept", was)
	}
	for n := 1; n <= last; n++ {
		commit(t, s, n)
		if _, _, err := s.Get(uint64(max(1, n-keep+1))); err != nil {
			t.Fatalf("the oldest revision to keep, after %d: %v", n, err)
		}
	}
	s.Close()
	s = open(t, dir)
	history, err := s.History(1000, 0)
	if err != nil {
		t.Fatal(err)
	}
	if len(history) != last-first+1 {
		t.Errorf("%d revisions are kept", len(history))
	}
	for i, rev := range history {
		if rev.Number != uint64(last-i) {
			t.Fatalf("revision %d at place %d", rev.Number, i)
		}
		cfg, _, err := s.Get(rev.Number)
		if err != nil || !reflect.DeepEqual(cfg, numberedConfig(int(rev.Number))) {
			t.Fatalf("revision %d: %v", rev.Number, err)
		}
	}
	if _, _, err := s.Get(1); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("revision 1 is still there: %v", err)
	}
}
