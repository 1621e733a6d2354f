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

	"github.com/sluicelb/sluice/core/farm"
)

// Bounds of what one backend set keeps: names come from the Host of requests,
// so anybody can send new ones.
const (
	maxBackendConfigs  = 512
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

	mu      sync.RWMutex
	configs map[backendKey]*tls.Config
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
		configs:  make(map[backendKey]*tls.Config),
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
// The result is shared and must not be changed. A name seen lately costs one
// look-up; others are forgotten at maxBackendConfigs.
func (b *Backend) Config(id uint32, name string) *tls.Config {
	key := backendKey{b.fixed, id}
	if key.name == "" {
		key.name = name
	}
	b.mu.RLock()
	c := b.configs[key]
	b.mu.RUnlock()
	if c != nil {
		return c
	}
	return b.derive(key)
}

func (b *Backend) derive(key backendKey) *tls.Config {
	c := b.base.Clone()
	c.ServerName = serverName(key.name)
	c.ClientSessionCache = &sessionsOf{b.sessions, strconv.FormatUint(uint64(key.id), 10) + " "}
	b.mu.Lock()
	defer b.mu.Unlock()
	if known := b.configs[key]; known != nil {
		return known
	}
	for old := range b.configs {
		if len(b.configs) < maxBackendConfigs {
			break
		}
		delete(b.configs, old)
	}
	key.name = strings.Clone(key.name) // it may be a view of a request
	b.configs[key] = c
	return c
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
