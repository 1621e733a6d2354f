package tlsconf

import (
	"crypto/tls"
	"crypto/x509"
	"sync"
	"time"

	"github.com/sluicelb/sluice/core/farm"
)

// Options are what a process decides for all its farms; the zero value is
// usable.
type Options struct {
	// Now is the clock; nil is time.Now.
	Now func() time.Time
	// Tickets are the master keys; nil makes a set of its own.
	Tickets *Tickets
	// Prepare, if set, is given each configuration before anybody uses it, to
	// wrap its callbacks for instance; for a service's backends it is the one
	// all others are cloned from.
	Prepare func(*tls.Config)
	// Roots are the authorities of the system; nil is SystemRoots.
	Roots func() (*x509.CertPool, error)
}

// Store holds what was built for the snapshot in use, so that the next one
// builds only what changed: certificates are read once, and a farm of which
// nothing changed keeps its *tls.Config, tickets and all. One per process. Any
// goroutine may use it.
type Store struct {
	options Options
	tickets *Tickets

	mu      sync.Mutex
	current *built
}

// built is everything of one snapshot, by digest of what it was built from.
type built struct {
	pairs       map[digest]*pair
	authorities map[digest]*authority
	listeners   map[digest]*listener
	backends    map[digest]*Backend
}

func newBuilt() *built {
	return &built{make(map[digest]*pair), make(map[digest]*authority), make(map[digest]*listener), make(map[digest]*Backend)}
}

// NewStore makes an empty store.
func NewStore(o Options) *Store {
	s := &Store{options: o, tickets: o.Tickets, current: newBuilt()}
	if s.tickets == nil {
		s.tickets = NewTickets(o.Now)
	}
	if s.options.Roots == nil {
		s.options.Roots = SystemRoots
	}
	return s
}

// Tickets are the master keys of the store's farms.
func (s *Store) Tickets() *Tickets { return s.tickets }

// prepared gives a new configuration to the owner of the store.
func (s *Store) prepared(c *tls.Config) *tls.Config {
	if s.options.Prepare != nil {
		s.options.Prepare(c)
	}
	return c
}

func (s *Store) now() time.Time {
	if s.options.Now != nil {
		return s.options.Now()
	}
	return time.Now()
}

// Begin starts the build for a snapshot; it ends with Commit, or is dropped
// when the snapshot is refused, which leaves the store as it was.
func (s *Store) Begin(cfg *farm.Config) *Build {
	s.mu.Lock()
	defer s.mu.Unlock()
	b := &Build{store: s, old: s.current, next: newBuilt(), certificates: make(map[string]*named[farm.Certificate, pair]),
		authorities: make(map[string]*named[farm.Authority, authority])}
	for i := range cfg.Certificates {
		c := &cfg.Certificates[i]
		b.certificates[c.Name] = &named[farm.Certificate, pair]{source: c, twice: b.certificates[c.Name] != nil}
	}
	for i := range cfg.Authorities {
		a := &cfg.Authorities[i]
		b.authorities[a.Name] = &named[farm.Authority, authority]{source: a, twice: b.authorities[a.Name] != nil}
	}
	return b
}
