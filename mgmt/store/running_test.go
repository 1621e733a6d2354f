package store_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sluicelb/sluice/mgmt/store"
)

// Damage of the file at run time affects only operations that need the file, and does not block
// callers that make changes.
func TestDamageOfAnOpenFileErrorContainsAdvice(t *testing.T) {
	for name, spoil := range map[string]func(f *os.File, size int64) error{
		"overwritten": func(f *os.File, size int64) error {
			_, err := f.WriteAt(bytes.Repeat([]byte{0xa5}, int(size)-8192), 8192)
			return err
		},
		"cut": func(f *os.File, _ int64) error { return f.Truncate(8192) },
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			s := open(t, dir)
			for n := 1; n <= 3; n++ {
				commit(t, s, n)
			}
			path := filepath.Join(dir, store.FileName)
			f, err := os.OpenFile(path, os.O_RDWR, 0)
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			st, err := f.Stat()
			if err == nil {
				err = spoil(f, st.Size())
			}
			if err != nil {
				t.Fatal(err)
			}
			done := make(chan struct{})
			go func() {
				defer close(done)
				useDamaged(t, s, path)
			}()
			select {
			case <-done:
			case <-time.After(20 * time.Second):
				t.Fatal("a caller waits for a damaged store")
			}
		})
	}
}

// useDamaged runs all operations on a store of three revisions with a damaged file.
func useDamaged(t *testing.T, s *store.Store, path string) {
	says := func(what string, err error) {
		t.Helper()
		if !errors.Is(err, store.ErrCorrupt) || !strings.Contains(err.Error(), path) || !strings.Contains(err.Error(), "restore the file from a backup") ||
			!strings.Contains(err.Error(), "restart sluice") || strings.Contains(err.Error(), "runtime error") {
			t.Errorf("%s: %v", what, err)
		}
	}
	_, err := s.History(10, 0)
	says("History", err)
	_, _, err = s.Get(2)
	says("Get", err)
	_, err = s.Certificates()
	says("Certificates", err)
	if _, ok := s.Setting("none"); ok {
		t.Error("a setting is read from a damaged file")
	}
	for _, n := range []string{"first", "next"} {
		_, err = s.Commit(killable(9), store.Meta{Author: "root"})
		says(n+" Commit", err)
		says(n+" SetSetting", s.SetSetting("a", "b"))
	}
	if cfg, rev := s.Current(); rev.Number != 3 || len(cfg.Farms) == 0 {
		t.Errorf("the configuration in force is that of revision %d", rev.Number)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}
