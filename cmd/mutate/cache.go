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

// buildCache is the GOCACHE for compiled faults. Each fault is compiled once, and some
// hundred of them take tens of GiB. The cache is therefore separate from the user's, and
// entries of faults are deleted regularly.
type buildCache struct {
	dir   string          // absolute
	known map[string]bool // paths below dir that existed before the first fault

	building sync.RWMutex // read lock while a fault is tried
	mu       sync.Mutex
	tried    int // faults since the last sweep
}

// sweepAfter is the number of faults between sweeps. Each takes up to a quarter of a GiB.
const sweepAfter = 16

// newBuildCache makes a cache in dir with hard links to the user's cache. If files cannot
// be linked it starts empty.
func newBuildCache(dir string) (*buildCache, error) {
	out, err := exec.Command("go", "env", "GOCACHE").Output()
	if err != nil {
		return nil, fmt.Errorf("go env GOCACHE: %w", err)
	}
	c := &buildCache{dir: dir, known: map[string]bool{}}
	return c, c.link(strings.TrimSpace(string(out)))
}

// link links all files of another cache, except its fuzzing corpora and trim.txt. The go
// command writes trim.txt in place, which would change the other cache. A file that
// disappears meanwhile is compiled again.
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

// use marks the cache as in use while a fault is compiled and tested; tests may compile,
// too.
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

// sweep deletes entries that are not in known. Failures are ignored, because the whole
// folder is deleted at the end.
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
