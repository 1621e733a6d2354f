package tlsconf

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sluicelb/sluice/core/farm"
)

// listener is the state behind the callbacks of one farm's configuration. It is
// immutable except for ticket keys.
type listener struct {
	store        *Store
	certificates []*served
	kinds        []keyKind
	names        index
	// first holds the candidates for clients without a covered name.
	first candidates

	client *authority // nil unless client certificates are verified
	offer  offer
	// full is the configuration returned by Build.Listener. plain lacks h2, for clients
	// whose handshake would violate the requirements of HTTP/2; nil if not needed.
	full, plain *ticketed
}

// ticketed is a configuration with the ticket keys of its policy.
type ticketed struct {
	config *tls.Config
	policy digest
	epoch  atomic.Uint64
	mu     sync.Mutex // held while keys are set
}

// refresh sets the keys of the current epoch if they have changed, and initially at the
// first handshake. Between rotations it costs one comparison.
func (t *ticketed) refresh(tickets *Tickets, now time.Time) {
	if t.epoch.Load() == tickets.current(now) {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	keys, epoch := tickets.keys(t.policy)
	t.config.SetSessionTicketKeys(keys)
	t.epoch.Store(epoch)
}

// newListener builds the configuration of a farm. policy is the digest of all settings
// that decide which clients may connect.
func newListener(store *Store, o offer, certificates []*served, mode farm.ClientAuth, client *authority, policy digester) (*listener, error) {
	l := &listener{store: store, certificates: certificates, client: client, offer: o}
	var names [][]pattern
	for _, c := range certificates {
		names = append(names, c.info.patterns)
		l.kinds = append(l.kinds, c.info.kind)
	}
	l.names = newIndex(names, l.kinds)
	l.first = l.defaults()
	auth, err := clientAuth(mode)
	if err != nil {
		return nil, err
	}
	l.full = l.configure(auth, o.http2, policy.text("all protocols").sum())
	if o.http2 && o.lowest < tls.VersionTLS13 {
		l.plain = l.configure(auth, false, policy.text("http/1.1 only").sum())
	}
	l.full.config.GetConfigForClient = l.configFor
	return l, nil
}

func clientAuth(mode farm.ClientAuth) (tls.ClientAuthType, error) {
	switch mode {
	case farm.ClientAuthOff:
		return tls.NoClientCert, nil
	case farm.ClientAuthOptional:
		return tls.VerifyClientCertIfGiven, nil
	case farm.ClientAuthRequired:
		return tls.RequireAndVerifyClientCert, nil
	}
	return 0, fmt.Errorf("client_auth: %q is none of %q", mode, farm.ClientAuths())
}

// The ALPN protocols of HTTP. Clients that offer only http/1.0 (curl --http1.0) are
// served by the HTTP/1.1 code.
var (
	oldProtocols = []string{"http/1.1", "http/1.0"}
	allProtocols = append([]string{"h2"}, oldProtocols...)
)

// configure builds one configuration. ClientCAs is never nil, because nil means the
// system's roots.
func (l *listener) configure(auth tls.ClientAuthType, http2 bool, policy digest) *ticketed {
	c := &tls.Config{
		Time:             l.store.options.Now,
		GetCertificate:   l.certificateFor,
		NextProtos:       oldProtocols,
		MinVersion:       l.offer.lowest,
		MaxVersion:       l.offer.highest,
		CipherSuites:     l.offer.suites,
		CurvePreferences: l.offer.curves,
		ClientAuth:       auth,
		ClientCAs:        x509.NewCertPool(),
	}
	switch {
	case http2:
		c.NextProtos = allProtocols
	case len(l.offer.others) > 0:
		c.NextProtos = l.offer.others
	}
	if l.client != nil {
		c.ClientCAs = l.client.pool
		c.VerifyConnection = l.verifyClient
	}
	return &ticketed{config: l.store.prepared(c), policy: policy}
}

// configFor is the GetConfigForClient callback. It refreshes ticket keys and withholds
// HTTP/2 from clients whose handshake does not qualify for it.
func (l *listener) configFor(hello *tls.ClientHelloInfo) (*tls.Config, error) {
	now := l.store.now()
	if l.plain != nil && !l.carriesHTTP2(hello) {
		l.plain.refresh(l.store.tickets, now)
		return l.plain.config, nil
	}
	l.full.refresh(l.store.tickets, now)
	return nil, nil
}

// carriesHTTP2 reports whether the handshake will satisfy HTTP/2: TLS 1.3, or TLS 1.2
// with a forward secret AEAD (RFC 9113 §9.2). crypto/tls prefers such suites. It is
// therefore sufficient that the client offers one that matches the certificate.
func (l *listener) carriesHTTP2(hello *tls.ClientHelloInfo) bool {
	if !slices.Contains(hello.SupportedProtos, "h2") {
		return true // irrelevant
	}
	if l.offer.highest >= tls.VersionTLS13 && slices.Contains(hello.SupportedVersions, tls.VersionTLS13) {
		return true
	}
	if !slices.Contains(hello.SupportedVersions, tls.VersionTLS12) || l.offer.lowest > tls.VersionTLS12 || !l.sharesClassic(hello.SupportedCurves) {
		return false
	}
	auth := authECDSA
	if l.kinds[l.pick(hello)].rsa() {
		auth = authRSA
	}
	return slices.ContainsFunc(hello.CipherSuites, func(id uint16) bool {
		s := suiteByID(id)
		return s != nil && s.forwardSecret() && s.mac == macAEAD && s.auth == auth && slices.Contains(l.offer.suites, id)
	})
}

func (l *listener) sharesClassic(theirs []tls.CurveID) bool {
	return slices.ContainsFunc(theirs, func(id tls.CurveID) bool {
		return classic([]tls.CurveID{id}) && (l.offer.curves == nil || slices.Contains(l.offer.curves, id))
	})
}

// verifyClient is the VerifyConnection callback. crypto/tls has verified the chain if
// the client sent one. It also runs for resumed sessions.
func (l *listener) verifyClient(state tls.ConnectionState) error {
	if len(state.PeerCertificates) == 0 {
		return nil
	}
	return l.client.revoked.verified(state.VerifiedChains, l.store.now())
}
