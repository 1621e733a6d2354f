package store_test

import (
	"errors"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/mgmt/store"
)

func open(t testing.TB, dir string) *store.Store {
	t.Helper()
	s, err := store.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

// numberedConfig returns a configuration that identifies revision n.
func numberedConfig(n int) *farm.Config {
	addr := netip.AddrFrom4([4]byte{10, byte(n >> 16), byte(n >> 8), byte(n)})
	// The recorded stores were written when this was the default.
	h, steady := farm.DefaultHTTP(), farm.DefaultHTTP()
	h.Verbs, steady.Verbs = farm.VerbsMSRPCExt, farm.VerbsMSRPCExt
	h.Error503 = fmt.Sprint("revision ", n)
	h.Services = []farm.Service{{ID: 7, Name: "web", Backends: []farm.Backend{{ID: 9, Host: addr.String(), Addr: addr, Port: 80}}}}
	c := &farm.Config{Farms: []farm.Farm{
		{ID: 1, Name: "steady", Profile: farm.ProfileHTTP, VIP: netip.MustParseAddr("127.0.0.1"), VPort: 80, HTTP: steady},
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

// revisionTime returns the time of a numbered revision, in a time zone an hour ahead of UTC.
func revisionTime(n int) time.Time {
	return time.Unix(int64(n), 0).In(time.FixedZone("", 3600))
}

func commit(t *testing.T, s *store.Store, n int) store.Revision {
	t.Helper()
	rev, err := s.Commit(numberedConfig(n), store.Meta{Author: "root", Source: "cli", Comment: fmt.Sprint("change ", n), Time: revisionTime(n)})
	if err != nil {
		t.Fatal(err)
	}
	return rev
}

func TestEveryRevisionIsReadBack(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	const last = 70 // all except the first are changes
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
		if !reflect.DeepEqual(cfg, numberedConfig(n)) || rev.Number != uint64(n) || rev.Comment != fmt.Sprint("change ", n) || rev.Author != "root" ||
			rev.Source != "cli" || rev.Time != revisionTime(n).UTC() || !strings.Contains(rev.Diff, fmt.Sprintf("+    error503: \"revision %d\"", n)) && n%5 != 0 {
			t.Fatalf("revision %d: %+v %+v", n, rev, cfg)
		}
	}
	cfg, rev := s.Current()
	if rev.Number != last || rev.Diff != "" || !reflect.DeepEqual(cfg, numberedConfig(last)) {
		t.Errorf("current is %+v %+v", rev, cfg)
	}
	diff, err := s.Diff(1, 2)
	if err != nil || !strings.Contains(diff, "-    error503: \"revision 1\"\n+    error503: \"revision 2\"\n") {
		t.Errorf("difference %v:\n%s", err, diff)
	}
	_, _, err = s.Get(last + 1)
	_, from := s.Diff(last+1, 1)
	_, to := s.Diff(1, last+1)
	for what, err := range map[string]error{"Get": err, "Diff from": from, "Diff to": to} {
		if !errors.Is(err, store.ErrNotFound) {
			t.Errorf("%s a revision of the future: %v", what, err)
		}
	}
	if cfg, rev, err := s.Get(0); err != nil || rev.Number != 0 || len(cfg.Farms) != 0 {
		t.Errorf("before the first revision: %+v %v", rev, err)
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

func TestSecondOpenErrorNamesTheLock(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	open(t, ".")
	_, err := store.Open(".")
	if !errors.Is(err, store.ErrLocked) || !strings.Contains(err.Error(), filepath.Join(dir, store.FileName)) {
		t.Errorf("got %v", err)
	}
}

func TestTheFileIsPrivateAndItsDirectoryIsMade(t *testing.T) {
	t.Chdir(t.TempDir())
	dir := filepath.Join("a", "b")
	open(t, dir)
	for name, want := range map[string]os.FileMode{filepath.Join(dir, store.FileName): 0o600, dir: os.ModeDir | 0o700, "a": os.ModeDir | 0o700} {
		if info, err := os.Stat(name); err != nil || info.Mode() != want {
			t.Fatalf("%s: got %v %v, want %v", name, info.Mode(), err, want)
		}
	}
	// A process with our PID died while it created one.
	left := t.TempDir()
	if err := os.WriteFile(filepath.Join(left, fmt.Sprintf("%s.%d.new", store.FileName, os.Getpid())), []byte("half a file"), 0o600); err != nil {
		t.Fatal(err)
	}
	open(t, left)
	for _, in := range []string{dir, left} {
		if entries, err := os.ReadDir(in); err != nil || len(entries) != 1 {
			t.Errorf("the directory holds %v (%v)", entries, err)
		}
	}
}

func TestAnAmendedRevisionKeepsItsNumber(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	commit(t, s, 1)
	commit(t, s, 2)
	amended := numberedConfig(2)
	amended.Farms[1].HTTP.Services[0].Backends[0].Addr = netip.MustParseAddr("10.9.9.9")
	if err := s.Amend(farms(0)); err == nil {
		t.Error("a farm without an ID was accepted")
	}
	if err := s.Amend(amended); err != nil {
		t.Fatal(err)
	}
	s.WithCursors(7, 7, 9)
	if err := s.Amend(amended); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		cfg, rev := s.Current()
		if history, err := s.History(9, 0); err != nil || len(history) != 2 || rev.Number != 2 || rev.Author != "root" || !reflect.DeepEqual(cfg, amended) {
			t.Errorf("current is %+v %+v, of %d revisions, %v", rev, cfg, len(history), err)
		}
		s.Close()
		if err := s.Amend(numberedConfig(1)); err == nil || errors.Is(err, store.ErrDiskFailed) {
			t.Errorf("a closed store: %v", err)
		}
		s = open(t, dir)
	}
	if id := give(t, s, farms(0)); id != 8 {
		t.Errorf("the next number is %d, want 8", id)
	}
}

// The store accepts no changes after a write that the disk did not confirm, as its data may be
// lost.
func TestUnconfirmedWriteStopsTheStore(t *testing.T) {
	s := open(t, t.TempDir())
	commit(t, s, 1)
	if err := s.Fail(2); !errors.Is(err, syscall.EIO) || errors.Is(err, store.ErrDiskFailed) {
		t.Errorf("a revision that is not there: %v", err)
	}
	if err := s.Ready(); err != nil {
		t.Fatal(err)
	}
	if err := s.Fail(1); !errors.Is(err, store.ErrDiskFailed) || !errors.Is(err, syscall.EIO) {
		t.Errorf("an existing revision: %v", err)
	}
	_, err := s.Commit(numberedConfig(2), store.Meta{})
	for what, err := range map[string]error{"Commit": err, "SetSetting": s.SetSetting("a", "b"), "Ready": s.Ready()} {
		if !errors.Is(err, store.ErrDiskFailed) {
			t.Errorf("%s: %v", what, err)
		}
	}
	if _, rev := s.Current(); rev.Number != 1 {
		t.Errorf("current is %+v", rev)
	}
}

func TestCommitRefusesDuplicateIDs(t *testing.T) {
	s := open(t, t.TempDir())
	highest := numberedConfig(1)
	highest.Farms[0].ID = farm.MaxFarmID
	if err := s.Amend(highest); err != nil {
		t.Errorf("the highest ID: %v", err)
	}
	for name, spoil := range map[string]func(*farm.Config){
		"unset":       func(c *farm.Config) { c.Farms[0].ID = 0 },
		"twice":       func(c *farm.Config) { c.Farms[0].ID = c.Farms[1].ID },
		"too high":    func(c *farm.Config) { c.Farms[0].ID = farm.MaxFarmID + 1 },
		"backend":     func(c *farm.Config) { c.Farms[1].HTTP.Services[0].Backends[0].ID = 0 },
		"its service": func(c *farm.Config) { c.Farms[1].HTTP.Services[0].ID = 0 },
	} {
		c := numberedConfig(1)
		spoil(c)
		if _, err := s.Commit(c, store.Meta{}); err == nil {
			t.Errorf("%s was accepted", name)
		}
	}
	if _, err := s.Commit(numberedConfig(1), store.Meta{Time: time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC)}); err == nil {
		t.Error("a time was accepted that cannot be read again")
	}
	if _, rev := s.Current(); rev.Number != 0 {
		t.Errorf("something was committed: %+v", rev)
	}
	before := time.Now().Truncate(0)
	if rev, err := s.Commit(numberedConfig(1), store.Meta{}); err != nil || rev.Time.Before(before) || rev.Time.After(time.Now()) {
		t.Errorf("a revision without a time is of %v, %v", rev.Time, err)
	}
}
