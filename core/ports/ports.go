// Package ports manages the addresses on which an engine listens, with a socket on each
// of its loops.
//
// A Port and its number stay the same while the engine runs. A connection finds its
// farm in any table by that number with one lookup.
package ports

import (
	"os"
	"slices"
	"time"

	"github.com/sluicelb/sluice/core/farm"
)

// Port is an address on which the engine listens or has listened.
type Port struct {
	farm.Listener
	// Number is the index in tables, from 0.
	Number int
	// Grace is how long connections of the port may continue after it was closed. The
	// caller that closes it sets it.
	Grace time.Duration

	key    string
	open   bool
	closed time.Time // time of the last close
}

// Side is one loop's part of an engine. All methods except Post are called on the loop.
type Side interface {
	// Post schedules fn to run on the loop.
	Post(fn func())
	// Listen serves a socket of a port. The socket remains the caller's.
	Listen(p *Port, f *os.File) error
	// Unlisten closes the socket of a port, if there is one.
	Unlisten(p *Port)
	// Socket returns a duplicate of the socket of a port.
	Socket(p *Port) (*os.File, error)
}

// Set holds the ports of one engine. It is not safe for concurrent use. Its methods
// wait for the loops and must not be called on one.
type Set[S Side] struct {
	sides  []S
	all    map[farm.Listener]*Port
	closed map[*Port]bool // those that were open
	keys   []string       // of the open ones, sorted; nil: to be listed
}

// New returns an empty Set.
func New[S Side](sides []S) *Set[S] {
	return &Set[S]{sides: sides, all: map[farm.Listener]*Port{}, closed: map[*Port]bool{}}
}

// Of returns the port of an address and creates it if necessary.
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

// Keys returns the sorted keys of the addresses on which the engine listens.
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

// Unlisten closes and returns the open ports for which wanted returns false.
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

// Over returns the closed ports whose grace period has passed.
func (s *Set[S]) Over() map[*Port]bool {
	over := map[*Port]bool{}
	for p := range s.closed {
		if time.Since(p.closed) >= p.Grace {
			over[p] = true
		}
	}
	return over
}
