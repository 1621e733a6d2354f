package store_test

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"syscall"
	"testing"
	"time"

	bolt "go.etcd.io/bbolt"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/mgmt/store"
)

var update = flag.Bool("update", false, "write testdata/layout1.db again")

const (
	layout1      = "testdata/layout1.db"
	layout1Count = 40
)

// writeLayout1 writes a file of layout 1 (see layout1.go).
func writeLayout1(t *testing.T, path string) {
	t.Helper()
	db, err := bolt.Open(path, 0o600, &bolt.Options{PageSize: 4096})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	err = db.Update(func(tx *bolt.Tx) error {
		meta, err := tx.CreateBucket([]byte("meta"))
		if err != nil {
			return err
		}
		revisions, err := tx.CreateBucket([]byte("revisions"))
		if err != nil {
			return err
		}
		for n := 1; n <= layout1Count; n++ {
			value, err := json.Marshal(map[string]any{"number": n, "time": time.Date(2026, 1, n%28+1, 0, 0, 0, 0, time.UTC),
				"author": "root", "source": "cli", "comment": fmt.Sprint("change ", n), "diff": fmt.Sprint("+", n, "\n"), "config": numberedConfig(n)})
			if err != nil {
				return err
			}
			if err := revisions.Put(binary.BigEndian.AppendUint64(nil, uint64(n)), value); err != nil {
				return err
			}
		}
		for name, id := range map[string]uint32{"farm": 2, "service": 7, "backend": 9} {
			if err := meta.Put([]byte(name), binary.BigEndian.AppendUint32(nil, id)); err != nil {
				return err
			}
		}
		return meta.Put([]byte("schema"), []byte("1"))
	})
	if err != nil {
		t.Fatal(err)
	}
}

// placeStore copies a file into a data directory as its store.
func placeStore(t *testing.T, from string) (dir string) {
	t.Helper()
	raw, err := os.ReadFile(from)
	if err != nil {
		t.Fatal(err)
	}
	dir = t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, store.FileName), raw, 0o600); err != nil {
		t.Fatal(err)
	}
	return dir
}

func TestLayout1BecomesTheCurrentOne(t *testing.T) {
	if *update {
		_ = os.Remove(layout1)
		if err := os.MkdirAll("testdata", 0o755); err != nil {
			t.Fatal(err)
		}
		writeLayout1(t, layout1)
	}
	dir := placeStore(t, layout1)
	for round := range 2 { // the second time there is nothing to migrate
		s := open(t, dir)
		cfg, rev := s.Current()
		if rev.Number != layout1Count+uint64(round) || !reflect.DeepEqual(cfg, numberedConfig(int(rev.Number))) {
			t.Fatalf("current is %+v", rev)
		}
		for n := 1; n <= layout1Count; n++ {
			cfg, rev, err := s.Get(uint64(n))
			if err != nil || !reflect.DeepEqual(cfg, numberedConfig(n)) || rev.Comment != fmt.Sprint("change ", n) || rev.Diff != fmt.Sprint("+", n, "\n") {
				t.Fatalf("revision %d: %+v %v", n, rev, err)
			}
		}
		if round == 0 {
			if id := give(t, s, farms(0)); id != 3 {
				t.Errorf("the next farm gets ID %d, want 3", id)
			}
			commit(t, s, layout1Count+1)
		}
		s.Close()
	}
	s := open(t, dir)
	s.Keep(5)
	commit(t, s, layout1Count+2)
	if _, _, err := s.Get(layout1Count - 2); err != nil {
		t.Errorf("the oldest revision to keep: %v", err)
	}
	kept, err := os.ReadFile(filepath.Join(dir, store.FileName+".layout1"))
	if err != nil || !strings.Contains(string(kept), "change 17") {
		t.Errorf("the copy of the old file: %v", err)
	}
	if info, err := os.Stat(filepath.Join(dir, store.FileName+".layout1")); err != nil || info.Mode() != 0o600 {
		t.Errorf("the copy of the old file: got %v %v, want 0o600", info.Mode(), err)
	}
}

func TestALayout1WithoutRevisionsIsEmpty(t *testing.T) {
	dir := placeStore(t, layout1)
	edit(t, filepath.Join(dir, store.FileName), func(tx *bolt.Tx) error {
		if err := tx.DeleteBucket([]byte("revisions")); err != nil {
			return err
		}
		_, err := tx.CreateBucket([]byte("revisions"))
		return err
	})
	if cfg, rev := open(t, dir).Current(); rev.Number != 0 || len(cfg.Farms) != 0 {
		t.Errorf("current is %+v", rev)
	}
}

func TestBrokenLayout1IsUnchanged(t *testing.T) {
	fifth := func(text string) func(*bolt.Tx) error {
		return func(tx *bolt.Tx) error {
			return tx.Bucket([]byte("revisions")).Put(binary.BigEndian.AppendUint64(nil, 5), []byte(text))
		}
	}
	for name, c := range map[string]struct {
		spoil func(*bolt.Tx) error
		want  error
	}{
		"no JSON":          {fifth("{broken"), store.ErrCorrupt},
		"no configuration": {fifth("{}"), store.ErrCorrupt},
		"no revisions":     {func(tx *bolt.Tx) error { return tx.DeleteBucket([]byte("revisions")) }, store.ErrCorrupt},
		"no copy":          {func(*bolt.Tx) error { return nil }, syscall.EEXIST},
	} {
		dir := placeStore(t, layout1)
		path := filepath.Join(dir, store.FileName)
		edit(t, path, c.spoil)
		if c.want == syscall.EEXIST { // another file is in the place of the copy
			if err := os.Mkdir(path+".layout1", 0o700); err != nil {
				t.Fatal(err)
			}
		}
		before, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := store.Open(dir); !errors.Is(err, c.want) {
			t.Fatalf("%s: got %v", name, err)
		}
		if after, err := os.ReadFile(path); err != nil || !reflect.DeepEqual(before, after) {
			t.Errorf("%s: the file was changed (%v)", name, err)
		}
	}
}

func TestANewerLayoutIsRefused(t *testing.T) {
	dir := t.TempDir()
	open(t, dir).Close()
	path := filepath.Join(dir, store.FileName)
	edit(t, path, func(tx *bolt.Tx) error { return tx.Bucket([]byte("meta")).Put([]byte("schema"), []byte("7")) })
	_, err := store.Open(dir)
	if !errors.Is(err, store.ErrNewer) || !strings.Contains(err.Error(), path) || !strings.Contains(err.Error(), "layout is 7, this one knows up to 6") ||
		!strings.HasSuffix(err.Error(), "start the newer release again, or move the file away to begin with an empty configuration") {
		t.Errorf("got %v", err)
	}
	for _, c := range []struct{ copy, named string }{{".layout7", ""}, {".layout4", ".layout4"}, {".layout5", ".layout5"}, {".layout6", ".layout6"}, {".layout3", ".layout6"}} {
		if err := os.WriteFile(path+c.copy, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := store.Open(dir)
		if named := "begin with the copy " + path + c.named + " in its place, "; !errors.Is(err, store.ErrNewer) || strings.Contains(err.Error(), named) != (c.named != "") {
			t.Errorf("with %s: %v", c.copy, err)
		}
	}
}

func edit(t *testing.T, path string, change func(*bolt.Tx) error) {
	t.Helper()
	db, err := bolt.Open(path, 0o600, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if err := db.Update(change); err != nil {
		t.Fatal(err)
	}
}

// Layout 4 had JSON revisions: forty of them, one with settings of the machine, a check and
// notes, and a tag.
func TestRevisionsOfLayout4AreRead(t *testing.T) {
	dir := placeStore(t, "testdata/layout4.db")
	want := func(n int) *farm.Config {
		cfg := numberedConfig(n)
		if n == 35 {
			cfg.System.NTP.Server = "ntp.example.com"
			cfg.Checks = []farm.Check{{Name: "speed", Command: "check_tcp -p PORT"}}
			cfg.Farms[0].Notes = &farm.Notes{Comment: "the shop", Tags: []string{"a"}}
		}
		return cfg
	}
	for range 2 { // the second time there is nothing to migrate
		s := open(t, dir)
		if cfg, rev := s.Current(); rev.Number != 40 || rev.Diff != "" || !rev.Time.Equal(revisionTime(40)) || !reflect.DeepEqual(cfg, want(40)) {
			t.Fatalf("current is %+v", rev)
		}
		for n := 1; n <= 40; n++ {
			if cfg, rev, err := s.Get(uint64(n)); err != nil || !reflect.DeepEqual(cfg, want(n)) || rev.Author != "root" || rev.Diff == "" || !rev.Time.Equal(revisionTime(n)) {
				t.Errorf("revision %d: %+v %v", n, rev, err)
			}
		}
		if tags, err := s.Tags(); err != nil || len(tags) != 1 || tags[0].Revision != 7 {
			t.Errorf("tags: %+v %v", tags, err)
		}
		if history, err := s.History(100, 0); err != nil || len(history) != 40 || history[0].Comment != "change 40" {
			t.Errorf("history: %d, %v", len(history), err)
		}
		s.Close()
	}
	if _, err := os.Stat(filepath.Join(dir, store.FileName+".layout4")); err != nil {
		t.Errorf("the copy of the old file: %v", err)
	}
}

func TestABrokenLayout4IsRepairedAndMigrated(t *testing.T) {
	for _, bucket := range []string{"revisions", "current"} {
		dir := placeStore(t, "testdata/layout4.db")
		edit(t, filepath.Join(dir, store.FileName), func(tx *bolt.Tx) error {
			b := tx.Bucket([]byte(bucket))
			return errors.Join(b.Delete(numberKey(1000)), b.Put(numberKey(40), []byte("no record at all")))
		})
		s := open(t, dir)
		_, before := s.Current()
		if got, _, err := s.Get(40); err != nil || before.Number != 40 || s.Repaired() == nil || len(s.Repaired().Lost) > 0 || !reflect.DeepEqual(got, numberedConfig(40)) {
			t.Errorf("%s: %+v %v %v", bucket, before, s.Repaired(), err)
		}
		s.Close()
	}
}

// recordsOf returns the values of a bucket by number.
func recordsOf(t *testing.T, dir, bucket string) map[uint64][]byte {
	t.Helper()
	out := map[uint64][]byte{}
	edit(t, filepath.Join(dir, store.FileName), func(tx *bolt.Tx) error {
		return tx.Bucket([]byte(bucket)).ForEach(func(k, v []byte) error {
			out[binary.BigEndian.Uint64(k)] = bytes.Clone(v)
			return nil
		})
	})
	return out
}

// Rewriting all revisions of a large store would take minutes at a start.
func TestRevisionsOfLayout4AreNotRewritten(t *testing.T) {
	dir := placeStore(t, "testdata/layout4.db")
	before, newest := recordsOf(t, dir, "revisions"), recordsOf(t, dir, "current")
	open(t, dir).Close()
	after, now := recordsOf(t, dir, "revisions"), recordsOf(t, dir, "current")
	if len(before) != 40 || !reflect.DeepEqual(before, after) {
		t.Errorf("of %d revisions %d are left, or their content differs", len(before), len(after))
	}
	if reflect.DeepEqual(newest, now) {
		t.Error("the newest one is as it was, though every start reads it")
	}
}

// All operations on revisions also work for layout 4 next to new ones.
func TestRevisionsOfLayout4CoexistWithNewOnes(t *testing.T) {
	dir := placeStore(t, "testdata/layout4.db")
	s := open(t, dir)
	s.Unsynced()
	s.Keep(40)
	for n := 41; n <= 50; n++ {
		commit(t, s, n)
	}
	if err := s.AddTag(tag("old", 38)); err != nil {
		t.Fatal(err)
	}
	list, err := s.History(100, 0)
	if err != nil || len(list) != 50 {
		t.Fatalf("got %d revisions, %v, want 50", len(list), err)
	}
	for i, r := range list {
		n := 50 - i
		_, got, err := s.Get(uint64(n))
		if n <= 40 && n != 38 { // 38 became a new one
			r.Diff, r.DiffOmitted = got.Diff, !r.DiffOmitted
		}
		if err != nil || !reflect.DeepEqual(got, r) || r.Number != uint64(n) || r.Diff == "" || !strings.HasPrefix(r.Comment, "change ") {
			t.Errorf("revision %d: listed as\n%+v, read as\n%+v, %v", n, r, got, err)
		}
	}
	if diff, err := s.Diff(7, 50); err != nil || diff == "" {
		t.Errorf("from an old one to a new one: %v", err)
	}
	if n, err := s.RewriteChecks("done", func(checks []farm.Check) error {
		for i := range checks {
			checks[i].Command = "veiled"
		}
		return nil
	}); err != nil || n == 0 {
		t.Errorf("%d are rewritten, %v", n, err)
	}
	if cfg, _, err := s.Get(35); err != nil || len(cfg.Checks) != 1 || cfg.Checks[0].Command != "veiled" {
		t.Errorf("revision 35: %v, %+v", err, cfg)
	}
	for n := 51; n <= 300; n++ {
		commit(t, s, n)
	}
	s.Close()
	s = open(t, dir)
	for _, n := range []int{7, 38, 257, 300} { // 7 has a tag from before
		if cfg, _, err := s.Get(uint64(n)); err != nil || !reflect.DeepEqual(cfg, numberedConfig(n)) {
			t.Errorf("revision %d: %v", n, err)
		}
	}
	if _, _, err := s.Get(39); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("an old one without a tag: %v", err)
	}
	if _, err := s.Restore(numberedConfig(3), store.Meta{Comment: "anew"}, store.Into(store.Contents{}, true)); err != nil {
		t.Fatal(err)
	}
	if list, err := s.History(100, 0); err != nil || len(list) != 1 {
		t.Errorf("got %d are left of a history that is forgotten, %v, want 1", len(list), err)
	}
}
