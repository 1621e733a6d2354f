package store

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	bolt "go.etcd.io/bbolt"

	"github.com/sluicelb/sluice/core/farm"
)

// plainRecord returns a record of any content with a valid checksum.
func plainRecord(content string) []byte {
	out := bytes.NewBuffer(make([]byte, sumSize))
	c := compress(out)
	defer c.end()
	c.write([]byte(content))
	c.close()
	return summed(out.Bytes())
}

// An unreadable revision prevents neither the start nor the list of the others.
func TestUnreadableRevisionAffectsNoOther(t *testing.T) {
	dir := t.TempDir()
	s, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	err = s.db.Update(func(tx *bolt.Tx) error {
		revisions := tx.Bucket(revisionsBucket)
		for n := uint64(1); n <= 35; n++ {
			e := &entry{Revision{Number: n, Comment: "four", Diff: "x"}, change{Whole: n%keyframeEvery == 1, Farms: farmsOf("a").Farms}}
			if err := putRecord(revisions, numberKey(n), e); err != nil {
				return err
			}
		}
		if err := revisions.Put(numberKey(30), plainRecord(`{"number":30,"comment":"four","diff":"x`+strings.Repeat("x", 1<<20))); err != nil {
			return err
		}
		now := &wholeRevision{Revision{Number: 35}, farmsOf("a")}
		if err := putRecord(tx.Bucket(currentBucket), numberKey(35), now); err != nil {
			return err
		}
		return tx.Bucket(metaBucket).Put(schemaKey, []byte("4"))
	})
	if err := errors.Join(err, s.Close()); err != nil {
		t.Fatal(err)
	}
	if s, err = Open(dir); err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if list, err := s.History(100, 0); err != nil || len(list) != 35 || list[5].Number != 30 || list[5].Comment != "four" {
		t.Errorf("a list of %d: %v", len(list), err)
	}
	for n := uint64(1); n <= 35; n++ {
		_, _, err := s.Get(n)
		if broken := n >= 30; broken != (err != nil) {
			t.Errorf("revision %d: %v", n, err)
		}
	}
	_, _, err = s.Get(31)
	_, diff := s.Diff(31, 35)
	_, rewritten := s.RewriteChecks("done", func([]farm.Check) error { return nil })
	for what, err := range map[string]error{"read": err, "compared": diff, "tagged": s.AddTag(Tag{Name: "a", Revision: 30})} {
		if !errors.Is(err, ErrCorrupt) || !strings.Contains(err.Error(), filepath.Join(dir, FileName)+": revision 30: decode revision: ") || !strings.Contains(err.Error(), "restore a backup of that time") || strings.Contains(err.Error(), "the store is damaged") {
			t.Errorf("%s: %v", what, err)
		}
	}
	if rewritten == nil || !strings.Contains(rewritten.Error(), ": revision 30: ") {
		t.Errorf("rewritten: %v", rewritten)
	}
	if _, err := s.Commit(farmsOf("ab"), Meta{}); err != nil {
		t.Error(err)
	}
}

// An incomplete copy, or that of a killed process, is removed; a complete one stays.
func TestMigrationCopyIsCompleteOrAbsent(t *testing.T) {
	dir := t.TempDir()
	name := filepath.Join(dir, FileName+".layout4")
	if err := os.WriteFile(filepath.Join(dir, "."+FileName+".layout4.123"), []byte("of one that was killed"), 0o600); err != nil {
		t.Fatal(err)
	}
	there := func(want ...string) {
		t.Helper()
		files, err := os.ReadDir(dir)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, f := range files {
			content, _ := os.ReadFile(filepath.Join(dir, f.Name()))
			got = append(got, f.Name()+": "+string(content))
		}
		if !slices.Equal(got, want) {
			t.Errorf("there is %q, want %q", got, want)
		}
	}
	write := func(text string, err error) error {
		return keepCopy(name, func(w io.Writer) error {
			_, _ = io.WriteString(w, text)
			return err
		})
	}
	if err := write("ha", syscall.ENOSPC); !errors.Is(err, syscall.ENOSPC) {
		t.Error(err)
	}
	there()
	if err := write("whole", nil); err != nil {
		t.Error(err)
	}
	there("store.db.layout4: whole")
	if err := write("ha", syscall.EIO); !errors.Is(err, syscall.EIO) {
		t.Error(err)
	}
	there("store.db.layout4: whole")
}
