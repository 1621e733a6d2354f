package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
)

// buildCache is where the go command keeps what it compiles of faults. Nobody
// compiles the same fault again, and a few hundred of them are tens of GiB: so it
// is apart from the user's own, and what faults left in it goes every now and then.
type buildCache struct {
	dir   string          // absolute
	known map[string]bool // what was there before the first fault, by path below dir

	building sync.RWMutex // held for reading while a fault is tried
	mu       sync.Mutex
	tried    int // faults since the last sweep
}

// sweepAfter is how many faults leave what they compiled until it goes: up to a
// quarter of a GiB each.
const sweepAfter = 16

// newBuildCache makes a cache in dir that knows all the user's own does, at the
// price of links. Where files cannot be linked it knows nothing, and learns.
func newBuildCache(dir string) (*buildCache, error) {
	out, err := exec.Command("go", "env", "GOCACHE").Output()
	if err != nil {
		return nil, fmt.Errorf("go env GOCACHE: %w", err)
	}
	c := &buildCache{dir: dir, known: map[string]bool{}}
	return c, c.link(strings.TrimSpace(string(out)))
}

// link has all files of another cache, but for its corpora of fuzzing, and for what says
// when it was tidied up last: the go command writes that in place, so it would be said of
// the other one, too. A file that goes meanwhile is one that is compiled again.
func (c *buildCache) link(from string) error {
	return filepath.WalkDir(from, func(path string, e fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil {
			return err
		}
		name, err := filepath.Rel(from, path)
		if err != nil {
			return err
		}
		switch {
		case e.IsDir() && name == "fuzz":
			return filepath.SkipDir
		case name == "trim.txt":
			return nil
		case e.IsDir():
			return os.MkdirAll(filepath.Join(c.dir, name), 0o755)
		case os.Link(path, filepath.Join(c.dir, name)) == nil:
			c.known[name] = true
		}
		return nil
	})
}

// use is held while a fault is compiled and its tests run, which compile too.
func (c *buildCache) use() (done func()) {
	c.building.RLock()
	return func() {
		c.building.RUnlock()
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.tried++; c.tried < sweepAfter {
			return
		}
		c.tried = 0
		c.building.Lock()
		defer c.building.Unlock()
		c.sweep()
	}
}

// sweep removes what was not known at first. What cannot be removed stays: it goes
// with the whole folder.
func (c *buildCache) sweep() {
	_ = filepath.WalkDir(c.dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return nil
		}
		if name, err := filepath.Rel(c.dir, path); err == nil && !c.known[name] {
			_ = os.Remove(path)
		}
		return nil
	})
}
