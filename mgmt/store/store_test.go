package store_test

import (
	"errors"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/mgmt/store"
)

func open(t *testing.T, dir string) *store.Store {
	t.Helper()
	s, err := store.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

// numbered is a configuration that tells which revision it is.
func numbered(n int) *farm.Config {
	addr := netip.AddrFrom4([4]byte{10, byte(n >> 16), byte(n >> 8), byte(n)})
	h := farm.DefaultHTTP()
	h.Error503 = fmt.Sprint("revision ", n)
	h.Services = []farm.Service{{ID: 7, Name: "web", Backends: []farm.Backend{{ID: 9, Host: addr.String(), Addr: addr, Port: 80}}}}
	c := &farm.Config{Farms: []farm.Farm{
		{ID: 1, Name: "steady", Profile: farm.ProfileHTTP, VIP: netip.MustParseAddr("127.0.0.1"), VPort: 80, HTTP: farm.DefaultHTTP()},
		{ID: 2, Name: "changing", Profile: farm.ProfileHTTP, VIP: netip.MustParseAddr("127.0.0.1"), VPort: 81, HTTP: h},
	}}
	if n%3 == 0 {
		c.Farms[0], c.Farms[1] = c.Farms[1], c.Farms[0]
	}
	if n%5 == 0 {
		c.Farms = c.Farms[:1]
	}
	return c
}

func commit(t *testing.T, s *store.Store, n int) store.Revision {
	t.Helper()
	rev, err := s.Commit(numbered(n), store.Meta{Author: "root", Source: "cli", Comment: fmt.Sprint("change ", n)})
	if err != nil {
		t.Fatal(err)
	}
	return rev
}

func TestEveryRevisionIsReadBack(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	const last = 70 // beyond two whole revisions
	for n := 1; n <= last; n++ {
		if rev := commit(t, s, n); rev.Number != uint64(n) || rev.Diff == "" {
			t.Fatalf("revision %d: %+v", n, rev)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = open(t, dir)
	for n := 1; n <= last; n++ {
		cfg, rev, err := s.Get(uint64(n))
		if err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(cfg, numbered(n)) || rev.Number != uint64(n) || rev.Comment != fmt.Sprint("change ", n) || rev.Author != "root" {
			t.Fatalf("revision %d: %+v %+v", n, rev, cfg)
		}
	}
	cfg, rev := s.Current()
	if rev.Number != last || !reflect.DeepEqual(cfg, numbered(last)) {
		t.Errorf("current is %+v %+v", rev, cfg)
	}
	diff, err := s.Diff(1, 2)
	if err != nil || !strings.Contains(diff, "-    error503: \"revision 1\"\n+    error503: \"revision 2\"\n") {
		t.Errorf("difference %v:\n%s", err, diff)
	}
	if _, _, err := s.Get(last + 1); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("a revision of the future: %v", err)
	}
}

func TestHistoryIsReadInPagesNewestFirst(t *testing.T) {
	s := open(t, t.TempDir())
	for n := 1; n <= 10; n++ {
		commit(t, s, n)
	}
	for _, c := range []struct {
		limit  int
		before uint64
		want   []uint64
	}{{3, 0, []uint64{10, 9, 8}}, {3, 8, []uint64{7, 6, 5}}, {5, 3, []uint64{2, 1}}, {5, 1, nil}, {2, 99, []uint64{10, 9}}, {0, 0, nil}} {
		revs, err := s.History(c.limit, c.before)
		if err != nil {
			t.Fatal(err)
		}
		var got []uint64
		for _, r := range revs {
			got = append(got, r.Number)
		}
		if !reflect.DeepEqual(got, c.want) {
			t.Errorf("history(%d, %d) = %v, want %v", c.limit, c.before, got, c.want)
		}
	}
}

func TestASecondOpenerIsToldToStopTheFirst(t *testing.T) {
	dir := t.TempDir()
	open(t, dir)
	_, err := store.Open(dir)
	if !errors.Is(err, store.ErrLocked) || !strings.Contains(err.Error(), filepath.Join(dir, store.FileName)) {
		t.Errorf("got %v", err)
	}
}

func TestTheFileIsPrivateAndItsDirectoryIsMade(t *testing.T) {
	t.Chdir(t.TempDir())
	dir := filepath.Join("a", "b")
	open(t, dir)
	info, err := os.Stat(filepath.Join(dir, store.FileName))
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Fatalf("%v %v", info.Mode(), err)
	}
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 1 {
		t.Errorf("the directory holds %v (%v)", entries, err)
	}
}

func TestCommitRefusesObjectsThatCannotBeToldApart(t *testing.T) {
	s := open(t, t.TempDir())
	for name, spoil := range map[string]func(*farm.Config){
		"unset":       func(c *farm.Config) { c.Farms[0].ID = 0 },
		"twice":       func(c *farm.Config) { c.Farms[0].ID = c.Farms[1].ID },
		"too high":    func(c *farm.Config) { c.Farms[0].ID = farm.MaxFarmID + 1 },
		"backend":     func(c *farm.Config) { c.Farms[1].HTTP.Services[0].Backends[0].ID = 0 },
		"its service": func(c *farm.Config) { c.Farms[1].HTTP.Services[0].ID = 0 },
	} {
		c := numbered(1)
		spoil(c)
		if _, err := s.Commit(c, store.Meta{}); err == nil {
			t.Errorf("%s was accepted", name)
		}
	}
	if _, rev := s.Current(); rev.Number != 0 {
		t.Errorf("something was committed: %+v", rev)
	}
}
