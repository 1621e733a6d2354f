package ports

import (
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sluicelb/sluice/core/farm"
)

// OnLoops runs fn for each side on its loop and waits for all.
func (s *Set[S]) OnLoops(fn func(S)) {
	s.each(func(_ int, side S) { fn(side) })
}

func (s *Set[S]) each(fn func(i int, side S)) {
	var wg sync.WaitGroup
	for i, side := range s.sides {
		wg.Add(1)
		side.Post(func() {
			defer wg.Done()
			fn(i, side)
		})
	}
	wg.Wait()
}

// Sum returns the sum of count over all sides, called on their loops.
func (s *Set[S]) Sum(count func(S) int) int {
	var all atomic.Int64
	s.OnLoops(func(side S) { all.Add(int64(count(side))) })
	return int(all.Load())
}

// Idle waits until busy returns 0 for all sides, for at most grace.
func (s *Set[S]) Idle(grace time.Duration, busy func(S) int) {
	for end := time.Now().Add(grace); s.Sum(busy) > 0 && time.Now().Before(end); {
		time.Sleep(20 * time.Millisecond)
	}
}

// Listen opens a port unless it is open. files holds one socket per loop; they remain
// the caller's.
func (s *Set[S]) Listen(l farm.Listener, files []*os.File) error {
	p := s.Of(l)
	if p.open {
		return nil
	}
	if len(files) != len(s.sides) {
		return fmt.Errorf("%s: %d sockets for %d loops", p.key, len(files), len(s.sides))
	}
	var failed atomic.Pointer[error]
	s.each(func(i int, side S) {
		if err := side.Listen(p, files[i]); err != nil {
			failed.Store(&err)
		}
	})
	p.open, s.keys = true, nil
	delete(s.closed, p)
	if err := failed.Load(); err != nil {
		s.close(p)
		return fmt.Errorf("%s: %w", p.key, *err)
	}
	return nil
}

// named returns the port with a key, or nil.
func (s *Set[S]) named(key string) *Port {
	for _, p := range s.all {
		if p.key == key {
			return p
		}
	}
	return nil
}

// Sockets returns duplicates of the sockets of a key, one per loop, for a new server of
// the address. It returns nil if there are none. The caller owns them.
func (s *Set[S]) Sockets(key string) []*os.File {
	p := s.named(key)
	if p == nil || !p.open {
		return nil
	}
	files := make([]*os.File, len(s.sides))
	var failed atomic.Bool
	s.each(func(i int, side S) {
		f, err := side.Socket(p)
		if err != nil {
			failed.Store(true)
		}
		files[i] = f
	})
	if failed.Load() {
		for _, f := range files {
			_ = f.Close() // also for nil
		}
		return nil
	}
	return files
}
