package tlsconf

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/netip"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/sluicelb/sluice/core/farm"
)

// Bounds of what one backend set keeps: names come from the Host of requests,
// so anybody can send new ones. There is a configuration for each name at each
// backend, by which connections that are kept are found: one that is forgotten
// makes them useless. So those that were asked for once have a place apart.
const (
	maxBackendConfigs  = 4096
	maxFreshConfigs    = 512
	maxBackendSessions = 512
)

// Backend is how the backends of a service are spoken to. It keeps the
// sessions they can resume, and lives on in later snapshots while nothing of
// it changes. Any goroutine may use it.
type Backend struct {
	base     *tls.Config
	fixed    string // the name that is always sent; empty: that of the request
	verifies bool
	revoked  *revocations
	store    *Store
	sessions tls.ClientSessionCache

	mu    sync.RWMutex
	kept  map[backendKey]*derived // asked for again
	fresh map[backendKey]*derived // asked for once
}

// derived is a configuration for one name at one backend.
type derived struct {
	config *tls.Config
	worked atomic.Bool // a handshake succeeded
}

// backendKey is what configurations differ in: sessions of one backend are of
// no use at another, which has ticket keys of its own.
type backendKey struct {
	name string
	id   uint32
}

// SystemRoots reads the certification authorities of the system. A process
// that gives up its right to open files calls it before: crypto/x509 keeps
// what it read. The error says that none were found.
func SystemRoots() (*x509.CertPool, error) {
	pool, err := x509.SystemCertPool()
	if err != nil {
		return nil, fmt.Errorf("the certification authorities of the system: %w", err)
	}
	if pool.Equal(x509.NewCertPool()) {
		return nil, errors.New("the system has no certification authorities: install ca-certificates or choose an authority of your own")
	}
	return pool, nil
}

// CheckBackend tells whether what a service says of its backends goes
// together. That what it names exists is the caller's to check.
func CheckBackend(t *farm.BackendTLS) error {
	switch t.Verify {
	case "", farm.VerifyNone, farm.VerifySystem:
	case farm.VerifyCA:
		if t.CA == "" {
			return errors.New("verify is ca: name the authority to verify with")
		}
	default:
		return fmt.Errorf("verify: %q is none of %q", t.Verify, farm.Verifies())
	}
	if t.Name != "" && serverName(t.Name) == "" {
		return fmt.Errorf("name: %q is neither a host name nor an address", t.Name)
	}
	return nil
}

// newBackend builds the configuration. roots and revoked are nil unless the
// certificate is verified; client is nil unless one is shown.
//
// Without verification anybody in between can be the backend, so the lowest
// version protects nothing: TLS 1.0 and, last of all, the RSA key exchange
// reach old servers. With it TLS 1.2 and forward secrecy are asked for.
func newBackend(store *Store, t *farm.BackendTLS, roots *x509.CertPool, revoked *revocations, client *pair, protocols []string) *Backend {
	b := &Backend{
		fixed: serverName(t.Name), store: store, revoked: revoked,
		verifies: t.Verify == farm.VerifyCA || t.Verify == farm.VerifySystem,
		sessions: tls.NewLRUClientSessionCache(maxBackendSessions),
		kept:     make(map[backendKey]*derived),
		fresh:    make(map[backendKey]*derived),
	}
	b.base = &tls.Config{
		Time:         store.options.Now,
		MinVersion:   tls.VersionTLS12,
		CipherSuites: secure,
		RootCAs:      roots,
		NextProtos:   protocols,
	}
	if !b.verifies {
		b.base.InsecureSkipVerify = true // chosen by the operator, per service
		b.base.MinVersion, b.base.CipherSuites = tls.VersionTLS10, compatible
	}
	if revoked != nil {
		b.base.VerifyConnection = b.verify
	}
	if client != nil {
		// Shown whatever authorities the backend lists: many list none, or others.
		b.base.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return &client.tls, nil }
	}
	store.prepared(b.base)
	return b
}

func (b *Backend) verify(state tls.ConnectionState) error {
	return b.revoked.verified(state.VerifiedChains, b.store.now())
}

// Config returns the configuration for a connection to the backend with that
// ID. name is the Host of the request without its port, or the backend's own
// host name; it is sent and verified unless BackendTLS.Name is set, which goes
// first. A name that is an address is verified and not sent (RFC 6066 §3);
// what is no name at all fails verification or, where there is none, is not
// sent.
//
// The result is shared and must not be changed. A name that is in use costs one
// look-up. Names that came once make room for each other, and for no others.
func (b *Backend) Config(id uint32, name string) *tls.Config {
	key := b.key(id, name)
	b.mu.RLock()
	d := b.kept[key]
	b.mu.RUnlock()
	if d != nil {
		return d.config
	}
	return b.derive(key)
}

// Fixed reports whether the name that is asked for never depends on a request.
func (b *Backend) Fixed() bool { return b.fixed != "" }

// Worked notes that a handshake with the backend succeeded for that name.
func (b *Backend) Worked(id uint32, name string) {
	if d := b.find(b.key(id, name)); d != nil && !d.worked.Load() {
		d.worked.Store(true)
	}
}

// HasWorked reports whether one did lately: when none does any more, it is not
// for the name.
func (b *Backend) HasWorked(id uint32, name string) bool {
	d := b.find(b.key(id, name))
	return d != nil && d.worked.Load()
}

func (b *Backend) key(id uint32, name string) backendKey {
	if b.fixed != "" {
		name = b.fixed
	}
	return backendKey{name, id}
}

func (b *Backend) find(key backendKey) *derived {
	b.mu.RLock()
	defer b.mu.RUnlock()
	if d := b.kept[key]; d != nil {
		return d
	}
	return b.fresh[key]
}

// derive makes the configuration of a name that comes for the first time, and
// keeps that of one that comes again.
func (b *Backend) derive(key backendKey) *tls.Config {
	b.mu.Lock()
	defer b.mu.Unlock()
	if d := b.kept[key]; d != nil {
		return d.config
	}
	d := b.fresh[key]
	key.name = strings.Clone(key.name) // it may be a view of a request
	if d != nil {
		delete(b.fresh, key)
		makeRoom(b.kept, maxBackendConfigs)
		b.kept[key] = d
		return d.config
	}
	d = &derived{config: b.base.Clone()}
	d.config.ServerName = serverName(key.name)
	d.config.ClientSessionCache = &sessionsOf{b.sessions, strconv.FormatUint(uint64(key.id), 10) + " "}
	makeRoom(b.fresh, maxFreshConfigs)
	b.fresh[key] = d
	return d.config
}

// makeRoom forgets one of most.
func makeRoom(of map[backendKey]*derived, most int) {
	if len(of) < most {
		return
	}
	for key := range of {
		delete(of, key)
		return
	}
}

// sessionsOf are the sessions of one backend in the cache of its set.
type sessionsOf struct {
	tls.ClientSessionCache
	prefix string
}

func (s *sessionsOf) Get(key string) (*tls.ClientSessionState, bool) {
	return s.ClientSessionCache.Get(s.prefix + key)
}

func (s *sessionsOf) Put(key string, state *tls.ClientSessionState) {
	s.ClientSessionCache.Put(s.prefix+key, state)
}

// serverName is a name as crypto/tls wants it: in lower case, without the dot
// at its end or brackets; empty when it is neither a name nor an address.
func serverName(name string) string {
	if inner, ok := strings.CutPrefix(name, "["); ok {
		name = strings.TrimSuffix(inner, "]")
	}
	if addr, err := netip.ParseAddr(name); err == nil {
		return addr.String()
	}
	var buf [maxName]byte
	key := normalize(&buf, name)
	for _, c := range key {
		if c <= ' ' || c >= 0x7f || strings.IndexByte(`/\:*?#@[]"'<>,;`, c) >= 0 {
			return ""
		}
	}
	return string(key)
}
