package tlsconf

import (
	"crypto/tls"
	"crypto/x509"
	"sync"
	"time"

	"github.com/sluicelb/sluice/core/farm"
)

// Options are the settings of a process for all its farms. The zero value is usable.
type Options struct {
	// Now is the clock; nil means time.Now.
	Now func() time.Time
	// Tickets holds the master keys; nil creates new ones.
	Tickets *Tickets
	// Prepare, if not nil, is called with each configuration before its first use, e.g.
	// to wrap its callbacks. For backends it is called with the base configuration,
	// which is cloned.
	Prepare func(*tls.Config)
	// Roots returns the system's authorities; nil means SystemRoots.
	Roots func() (*x509.CertPool, error)
}

// Store holds the objects built for the current snapshot, so that the next one builds
// only changes. Certificates are parsed once, and a farm without changes keeps its
// *tls.Config and tickets. There is one Store per process. It is safe for concurrent
// use.
type Store struct {
	options Options
	tickets *Tickets

	mu      sync.Mutex
	current *built
}

// built holds the objects of one snapshot by the digest of their source.
type built struct {
	pairs       map[digest]*pair
	authorities map[digest]*authority
	listeners   map[digest]*listener
	backends    map[digest]*Backend
}

func newBuilt() *built {
	return &built{make(map[digest]*pair), make(map[digest]*authority), make(map[digest]*listener), make(map[digest]*Backend)}
}

// NewStore returns an empty store.
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

// Tickets returns the master keys of the store's farms.
func (s *Store) Tickets() *Tickets { return s.tickets }

// prepared passes a new configuration to Options.Prepare and returns it.
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

// Begin starts the build for a snapshot. The build ends with Commit. It may also be
// dropped if the snapshot is rejected, which leaves the store unchanged.
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
