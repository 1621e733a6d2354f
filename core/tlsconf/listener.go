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

// listener is what the callbacks of one farm's configuration work on. It does
// not change after it was built, but for ticket keys.
type listener struct {
	store        *Store
	certificates []*served
	kinds        []keyKind
	names        index
	// first are the candidates for clients that name nothing that is covered.
	first candidates

	client *authority // nil unless clients show certificates
	offer  offer
	// full is what farms hand out; plain leaves h2 out, for clients whose
	// handshake ends with what HTTP/2 forbids. Plain is nil when not needed.
	full, plain *ticketed
}

// ticketed is a configuration with the ticket keys of its policy.
type ticketed struct {
	config *tls.Config
	policy digest
	epoch  atomic.Uint64
	mu     sync.Mutex // held while keys are set
}

// refresh sets the keys of the current epoch, the first ones at the first
// handshake; between rotations that is one comparison.
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

// newListener builds the configuration of a farm. policy is the digest of
// everything that decides who may connect.
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

// The protocols of HTTP. Clients that offer http/1.0 alone (curl --http1.0) are served
// by what speaks HTTP/1.1.
var (
	oldProtocols = []string{"http/1.1", "http/1.0"}
	allProtocols = append([]string{"h2"}, oldProtocols...)
)

// configure makes one configuration. There is always a pool, if an empty one: a
// nil pool would mean the roots of the system.
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

// configFor is GetConfigForClient: it keeps ticket keys fresh, and HTTP/2 away
// from clients that could not use it.
func (l *listener) configFor(hello *tls.ClientHelloInfo) (*tls.Config, error) {
	now := l.store.now()
	if l.plain != nil && !l.carriesHTTP2(hello) {
		l.plain.refresh(l.store.tickets, now)
		return l.plain.config, nil
	}
	l.full.refresh(l.store.tickets, now)
	return nil, nil
}

// carriesHTTP2 reports whether the handshake will end with what HTTP/2 allows:
// TLS 1.3, or TLS 1.2 with a forward secret AEAD (RFC 9113 §9.2). crypto/tls
// prefers those, so it is enough that the client has one that goes with the
// certificate.
func (l *listener) carriesHTTP2(hello *tls.ClientHelloInfo) bool {
	if !slices.Contains(hello.SupportedProtos, "h2") {
		return true // no matter
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

// verifyClient is VerifyConnection: crypto/tls has verified the chain, or not
// asked for one. It runs for resumed sessions too.
func (l *listener) verifyClient(state tls.ConnectionState) error {
	if len(state.PeerCertificates) == 0 {
		return nil
	}
	return l.client.revoked.verified(state.VerifiedChains, l.store.now())
}
