package tlsconf

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"maps"
	"slices"
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

	// sources are the certificates and authorities of the snapshot, never modified.
	sources struct {
		certificates []farm.Certificate
		authorities  []farm.Authority
	}
	most int // number of listeners and backends from which objects without a user are removed
}

func newBuilt() *built {
	return &built{pairs: make(map[digest]*pair), authorities: make(map[digest]*authority), listeners: make(map[digest]*listener), backends: make(map[digest]*Backend)}
}

// adopted returns a copy that has all objects, also those that will have no user.
func (b *built) adopted() *built {
	next := *b
	next.pairs, next.authorities, next.listeners, next.backends = maps.Clone(b.pairs), maps.Clone(b.authorities), maps.Clone(b.listeners), maps.Clone(b.backends)
	return &next
}

// has reports whether the objects were built from the certificates and authorities of cfg.
func (b *built) has(cfg *farm.Config) bool {
	return slices.EqualFunc(b.sources.certificates, cfg.Certificates, func(a, b farm.Certificate) bool {
		return a.Name == b.Name && slices.EqualFunc(a.Chain, b.Chain, bytes.Equal) && bytes.Equal(a.Key, b.Key) && bytes.Equal(a.Staple, b.Staple)
	}) && slices.EqualFunc(b.sources.authorities, cfg.Authorities, func(a, b farm.Authority) bool {
		return a.Name == b.Name && slices.EqualFunc(a.Certificates, b.Certificates, bytes.Equal) && slices.EqualFunc(a.Revoked, b.Revoked, bytes.Equal)
	})
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
	b := &Build{store: s, old: s.current, next: newBuilt(),
		certificates: make(map[string]*named[farm.Certificate, pair]), authorities: make(map[string]*named[farm.Authority, authority])}
	b.adopts = len(b.old.listeners)+len(b.old.backends) < b.old.most && b.old.has(cfg)
	if b.adopts {
		b.next = b.old.adopted()
	}
	b.next.sources.certificates, b.next.sources.authorities = cfg.Certificates, cfg.Authorities
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
