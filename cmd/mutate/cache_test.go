package main

import (
	"os"
	"path/filepath"
	"testing"
)

// Entries of the original cache stay, entries of faults are swept, and the user's cache
// is unchanged.
func TestCacheDropsEntriesOfFaults(t *testing.T) {
	users := t.TempDir()
	t.Setenv("GOCACHE", users)
	write(t, filepath.Join(users, "01", "sound"))
	write(t, filepath.Join(users, "fuzz", "corpus"))
	write(t, filepath.Join(users, "trim.txt"))
	c, err := newBuildCache(filepath.Join(t.TempDir(), "cache"))
	if err != nil {
		t.Fatal(err)
	}
	if exists(c.dir, "fuzz/corpus") || exists(c.dir, "trim.txt") || !exists(c.dir, "01/sound") {
		t.Fatal("the copy should contain just the compiled packages")
	}
	for n := 1; n <= sweepAfter; n++ {
		done := c.use()
		write(t, filepath.Join(c.dir, "01", "faulty"))
		done()
		if left := exists(c.dir, "01/faulty"); left != (n < sweepAfter) {
			t.Fatalf("after %d faults, the build results of the last one exist: %v", n, left)
		}
	}
	if !exists(c.dir, "01/sound") || !exists(users, "01/sound") || exists(users, "01/faulty") {
		t.Error("the user's cache should stay unchanged and separate")
	}
}

func exists(dir, name string) bool {
	_, err := os.Stat(filepath.Join(dir, name))
	return err == nil
}

func write(t *testing.T, path string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte("compiled"), 0o644); err != nil {
		t.Fatal(err)
	}
}
