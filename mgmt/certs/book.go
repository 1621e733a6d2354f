package certs

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"golang.org/x/crypto/ocsp"

	"github.com/sluicelb/sluice/mgmt/outbound"
	"github.com/sluicelb/sluice/mgmt/store"
)

// Store stores certificates on disk; *store.Store implements it.
type Store interface {
	Certificates() ([]store.Certificate, error)
	Authorities() ([]store.Authority, error)
	ChangeCertificates(put []store.Certificate, remove ...string) error
	PutAuthority(store.Authority) error
	DeleteAuthority(name string) error
	Setting(name string) (string, bool)
	SetSetting(name, value string) error
}

// Book holds all certificates and authorities. Use Open to get one.
type Book struct {
	store Store
	node  *nodeKey
	log   *slog.Logger
	now   func() time.Time
	proxy func() outbound.Proxy

	mu          sync.RWMutex
	entries     map[string]*entry
	authorities map[string]*authority
}

// entry is a certificate or a CSR. It is immutable.
type entry struct {
	rec     store.Certificate
	chain   []*x509.Certificate      // nil in a CSR
	request *x509.CertificateRequest // nil in a certificate
	staple  *ocsp.Response           // nil if there is none
	// broken is the reason why the record cannot be read.
	broken error
	// plain is the private key of the appliance's own certificate in PKCS #8; other keys
	// are sealed.
	plain []byte
}

// Options are the parameters of a Book.
type Options struct {
	// Dir is the data directory, which contains the node key.
	Dir string
	// Log receives errors at the start; nil discards them.
	Log *slog.Logger
	// Now is the clock; nil means time.Now.
	Now func() time.Time
	// Proxy is the proxy for OCSP responders; nil: none.
	Proxy func() outbound.Proxy
}

// Open reads all certificates and the node key. An unreadable certificate is listed with
// its problem; only an unreadable store is an error.
func Open(st Store, o Options) (*Book, error) {
	b := &Book{store: st, log: o.Log, now: o.Now, proxy: o.Proxy, entries: map[string]*entry{}, authorities: map[string]*authority{}}
	if b.log == nil {
		b.log = slog.New(slog.DiscardHandler)
	}
	if b.now == nil {
		b.now = time.Now
	}
	certificates, err := st.Certificates()
	if err != nil {
		return nil, err
	}
	authorities, err := st.Authorities()
	if err != nil {
		return nil, err
	}
	var made bool
	if b.node, made, err = openNodeKey(o.Dir); err != nil {
		b.log.Error("no certificate can be used", "certificates", len(certificates), "error", err)
	}
	if made && len(certificates) > 0 {
		b.log.Error("the node key was missing and a new one was made: put the old file back and restart, or upload the certificates again",
			"file", b.node.path, "certificates", len(certificates))
	}
	for _, rec := range certificates {
		b.entries[rec.Name] = readEntry(rec)
	}
	for _, rec := range authorities {
		b.authorities[rec.Name] = readAuthority(rec)
	}
	b.logBroken()
	return b, nil
}

// logBroken logs certificates that cannot be used.
func (b *Book) logBroken() {
	if _, _, err := b.node.load(); err != nil {
		return // already logged for all of them
	}
	for _, e := range b.all() {
		if _, err := b.key(e); err != nil {
			b.log.Error("certificate cannot be used", "name", e.rec.Name, "reason", err)
		}
	}
	for _, a := range b.allAuthorities() {
		if a.broken != nil {
			b.log.Error("authority list cannot be used", "name", a.rec.Name, "reason", a.broken)
		}
	}
}

// SetAppliance makes the certificate of the management API available to farms. It must be
// called before the first publication.
func (b *Book) SetAppliance(c tls.Certificate) error {
	key, err := x509.MarshalPKCS8PrivateKey(c.PrivateKey)
	if err != nil {
		return fmt.Errorf("the certificate of the API: %w", err)
	}
	e := readEntry(store.Certificate{Name: ApplianceName, Chain: c.Certificate})
	if e.broken != nil {
		return fmt.Errorf("the certificate of the API: %w", e.broken)
	}
	e.plain, e.rec.Author, e.rec.Added = key, "the appliance", e.chain[0].NotBefore
	b.put(e)
	return nil
}

// readEntry parses a record. Its key stays sealed until needed.
func readEntry(rec store.Certificate) *entry {
	e := &entry{rec: rec}
	if len(rec.Request) > 0 {
		e.request, e.broken = x509.ParseCertificateRequest(rec.Request)
		return e
	}
	for _, der := range rec.Chain {
		c, err := x509.ParseCertificate(der)
		if err != nil {
			e.chain, e.broken = nil, err
			return e
		}
		e.chain = append(e.chain, c)
	}
	if len(e.chain) == 0 {
		e.broken = fmt.Errorf("it has no content")
		return e
	}
	e.staple = e.readStaple(rec.Staple)
	return e
}

// key returns the private key in PKCS #8, or the reason why there is none.
func (b *Book) key(e *entry) ([]byte, error) {
	switch {
	case e.broken != nil:
		return nil, fmt.Errorf("it cannot be read: %w: upload it again", e.broken)
	case e.plain != nil:
		return e.plain, nil
	}
	return b.node.open(e.rec.Name, e.rec.Key)
}

func (b *Book) entry(name string) *entry {
	b.mu.RLock()
	defer b.mu.RUnlock()
	return b.entries[name]
}

func (b *Book) authority(name string) *authority {
	b.mu.RLock()
	defer b.mu.RUnlock()
	return b.authorities[name]
}

// put stores an entry under its name.
func (b *Book) put(e *entry) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.entries[e.rec.Name] = e
}

// set stores an entry, or removes it if e is nil.
func (b *Book) set(name string, e *entry) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.entries[name] = e; e == nil {
		delete(b.entries, name)
	}
}

func (b *Book) setAuthority(name string, a *authority) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.authorities[name] = a; a == nil {
		delete(b.authorities, name)
	}
}

// all returns the entries sorted by name.
func (b *Book) all() []*entry {
	b.mu.RLock()
	defer b.mu.RUnlock()
	var out []*entry
	for _, name := range slices.Sorted(maps.Keys(b.entries)) {
		out = append(out, b.entries[name])
	}
	return out
}

func (b *Book) allAuthorities() []*authority {
	b.mu.RLock()
	defer b.mu.RUnlock()
	var out []*authority
	for _, name := range slices.Sorted(maps.Keys(b.authorities)) {
		out = append(out, b.authorities[name])
	}
	return out
}
