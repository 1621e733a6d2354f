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

// Limits of one backend set. Names come from the Host of requests, so clients can send
// arbitrary ones. Each name at each backend has its own configuration, and kept
// connections are found by it. Evicting a configuration makes its connections useless.
// Names requested only once are therefore kept separately.
const (
	maxBackendConfigs  = 4096
	maxFreshConfigs    = 512
	maxBackendSessions = 512
)

// Backend holds the TLS configurations for the backends of a service, and their
// sessions for resumption. It is reused by later snapshots while its settings do not
// change. It is safe for concurrent use.
type Backend struct {
	base     *tls.Config
	fixed    string // the name that is always sent; empty: the name in the request
	verifies bool
	revoked  *revocations
	store    *Store
	sessions tls.ClientSessionCache

	mu    sync.RWMutex
	kept  map[backendKey]*derived // requested more than once
	fresh map[backendKey]*derived // requested once
}

// derived is the configuration for one name at one backend.
type derived struct {
	config *tls.Config
	worked atomic.Bool // a handshake succeeded
}

// backendKey identifies a configuration. It includes the backend because sessions
// cannot be resumed at another one, which has different ticket keys.
type backendKey struct {
	name string
	id   uint32
}

// SystemRoots returns the certification authorities of the system, or an error if there
// are none. A process must call it before it drops the right to open files; crypto/x509
// caches the result.
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

// CheckBackend checks the consistency of a service's backend TLS settings. The caller
// checks that referenced objects exist.
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

// newBackend builds the base configuration. roots and revoked are nil unless the
// certificate is verified; client is nil without a client certificate.
//
// Without verification, a man in the middle can impersonate the backend, so a minimum
// version adds no security. TLS 1.0 and, as the last choice, RSA key exchange then
// allow old servers. With verification, TLS 1.2 and forward secrecy are required.
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
		// It is sent even if the backend lists other authorities, because many list none, or
		// wrong ones.
		b.base.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return &client.tls, nil }
	}
	store.prepared(b.base)
	return b
}

func (b *Backend) verify(state tls.ConnectionState) error {
	return b.revoked.verified(state.VerifiedChains, b.store.now())
}

// Config returns the configuration for a connection to the backend with the given ID.
// name is the Host of the request without its port, or the backend's own host name. It
// is sent as SNI and verified unless BackendTLS.Name is set, which takes precedence. An
// IP address is verified but not sent (RFC 6066 §3). An invalid name fails
// verification; if verification is off it is not sent.
//
// The result is shared and must not be modified. A name in use costs one lookup. Names
// requested once only evict each other.
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

// Fixed reports whether the server name never depends on a request.
func (b *Backend) Fixed() bool { return b.fixed != "" }

// Worked records that a handshake with the backend succeeded for that name.
func (b *Backend) Worked(id uint32, name string) {
	if d := b.find(b.key(id, name)); d != nil && !d.worked.Load() {
		d.worked.Store(true)
	}
}

// HasWorked reports whether a handshake with the backend has succeeded for that name.
// If later ones fail, the name is therefore not the cause.
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

// derive creates the configuration on the first request for a name, and moves it to
// kept on the second.
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

// makeRoom deletes an arbitrary entry if the map has most entries.
func makeRoom(of map[backendKey]*derived, most int) {
	if len(of) < most {
		return
	}
	for key := range of {
		delete(of, key)
		return
	}
}

// sessionsOf is the part of the set's session cache that belongs to one backend.
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

// serverName converts a name to the form that crypto/tls expects: lower case, without
// trailing dot or brackets. It returns "" for anything but a host name or an address.
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
