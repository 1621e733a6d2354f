// Package ports keeps the addresses an engine listens on, with a socket on each
// of its loops.
//
// A Port stays the same, with its number, as long as the engine runs: what came
// in there finds its farm in any table by that number, in one look.
package ports

import (
	"os"
	"slices"
	"time"

	"github.com/sluicelb/sluice/core/farm"
)

// Port is one address the engine listens on, or did.
type Port struct {
	farm.Listener
	// Number is its position in tables, from 0 on.
	Number int
	// Grace is how long what came in there may go on after the port was closed.
	// Who closes it says.
	Grace time.Duration

	key    string
	open   bool
	closed time.Time // when it was last
}

// Side is one loop's share of an engine. The methods but Post are called on the
// loop.
type Side interface {
	// Post runs fn on the loop, soon.
	Post(fn func())
	// Listen serves a socket of a port, which stays the caller's.
	Listen(p *Port, f *os.File) error
	// Unlisten closes it; there may be none.
	Unlisten(p *Port)
	// Socket returns a duplicate of it.
	Socket(p *Port) (*os.File, error)
}

// Set is the ports of one engine. Its methods are for one goroutine at a time,
// which is none of the loops; they wait for these.
type Set[S Side] struct {
	sides  []S
	all    map[farm.Listener]*Port
	closed map[*Port]bool // those that were open
	keys   []string       // of the open ones, sorted; nil: to be listed
}

// New returns a set without ports.
func New[S Side](sides []S) *Set[S] {
	return &Set[S]{sides: sides, all: map[farm.Listener]*Port{}, closed: map[*Port]bool{}}
}

// Of returns the port of an address, a new one if there was none.
func (s *Set[S]) Of(l farm.Listener) *Port {
	p := s.all[l]
	if p == nil {
		p = &Port{Listener: l, Number: len(s.all), key: l.Key()}
		s.all[l] = p
	}
	return p
}

// Open reports whether the engine listens on an address.
func (s *Set[S]) Open(l farm.Listener) bool {
	p := s.all[l]
	return p != nil && p.open
}

// Keys lists the keys of the addresses the engine listens on, sorted. Nobody may change
// the list, which stays the same until a port is opened or closed.
func (s *Set[S]) Keys() []string {
	if s.keys == nil {
		s.keys = make([]string, 0, len(s.all))
		for _, p := range s.all {
			if p.open {
				s.keys = append(s.keys, p.key)
			}
		}
		slices.Sort(s.keys)
	}
	return s.keys
}

// Unlisten closes the ports that are open and not wanted, and lists them.
func (s *Set[S]) Unlisten(wanted func(*Port) bool) (closed []*Port) {
	for _, p := range s.all {
		if p.open && !wanted(p) {
			s.close(p)
			closed = append(closed, p)
		}
	}
	return closed
}

// UnlistenAt is Unlisten of the ports of these addresses alone.
func (s *Set[S]) UnlistenAt(at []farm.Listener, wanted func(*Port) bool) (closed []*Port) {
	for _, l := range at {
		if p := s.all[l]; p != nil && p.open && !wanted(p) {
			s.close(p)
			closed = append(closed, p)
		}
	}
	return closed
}

func (s *Set[S]) close(p *Port) {
	p.open, p.closed = false, time.Now()
	s.closed[p], s.keys = true, nil
	s.OnLoops(func(side S) { side.Unlisten(p) })
}

// Over returns the ports that are closed and whose grace is over.
func (s *Set[S]) Over() map[*Port]bool {
	over := map[*Port]bool{}
	for p := range s.closed {
		if time.Since(p.closed) >= p.Grace {
			over[p] = true
		}
	}
	return over
}
