package disk

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// A crash at any moment leaves the file complete: its content is on the disk before it has
// its name, and the name before the caller continues.
func TestWritesAreSyncedInOrder(t *testing.T) {
	system := sync
	t.Cleanup(func() { sync = system })
	for what, c := range map[string]struct {
		before string // in the file; empty: there is none
		do     func(path string) error
		synced []string // how much was synced, and the content of path at that time
		after  string
	}{
		"create":           {"", func(p string) error { return Create(p, []byte("new")) }, []string{"new, path: ", "folder, path: new"}, "new"},
		"create once more": {"old", func(p string) error { return Create(p, []byte("new")) }, []string{"new, path: old", "folder, path: old"}, "old"},
		"replace":          {"old", func(p string) error { return Replace(p, []byte("new")) }, []string{"new, path: old", "folder, path: new"}, "new"},
		"link":             {"", func(p string) error { return Link("/proc/self/comm", p) }, nil, ""}, // of another disk
		"without a folder": {"", func(p string) error { return Create(p+"/x", []byte("new")) }, nil, ""},
		"replace a folder": {"", func(p string) error { return Replace(filepath.Dir(p), []byte("new")) }, nil, ""},
		"a name too long":  {"old", func(p string) error { return Replace(p+string(make([]byte, 300)), nil) }, nil, "old"},
	} {
		folder := t.TempDir()
		path := filepath.Join(folder, "file")
		if c.before != "" {
			if err := os.WriteFile(path, []byte(c.before), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		var synced []string
		sync = func(f *os.File) error {
			had, _ := os.ReadFile(path)
			content, err := os.ReadFile(f.Name())
			if err != nil {
				content = []byte("folder")
			}
			synced = append(synced, string(content)+", path: "+string(had))
			return system(f)
		}
		err := c.do(path)
		if what == "replace a folder" {
			synced = nil // the new file was synced next to it
		}
		if (err != nil) != (c.synced == nil) || !slices.Equal(synced, c.synced) {
			t.Errorf("%s: %v, synced %q, want %q", what, err, synced, c.synced)
		}
		if after, _ := os.ReadFile(path); string(after) != c.after {
			t.Errorf("%s: the file holds %q, want %q", what, after, c.after)
		}
		if left, _ := filepath.Glob(filepath.Join(folder, ".*")); len(left) != 0 {
			t.Errorf("%s: left behind: %v", what, left)
		}
		if info, err := os.Stat(path); err == nil && info.Mode().Perm() != 0o600 {
			t.Errorf("%s: the file has mode %v", what, info.Mode())
		}
	}
}

// After a failed sync the file must not exist.
func TestFailedSyncIsAnError(t *testing.T) {
	system := sync
	t.Cleanup(func() { sync = system })
	for _, fails := range []int{1, 2} {
		calls := 0
		sync = func(f *os.File) error {
			if calls++; calls == fails {
				return errors.New("the disk broke")
			}
			return system(f)
		}
		path := filepath.Join(t.TempDir(), "file")
		if err := Create(path, []byte("new")); err == nil || calls != fails {
			t.Errorf("sync %d failed: %v after %d", fails, err, calls)
		}
		if _, err := os.Stat(path); (err == nil) != (fails == 2) {
			t.Errorf("sync %d failed: %v", fails, err)
		}
	}
}
