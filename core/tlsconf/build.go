package tlsconf

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/sluicelb/sluice/core/farm"
)

// Build creates the configurations of one snapshot. It is not safe for concurrent use.
type Build struct {
	store        *Store
	old, next    *built
	certificates map[string]*named[farm.Certificate, pair]
	authorities  map[string]*named[farm.Authority, authority]
	warnings     []string
	adopts       bool
}

// Adopts reports whether unchanged farms and services keep the configurations of the build in
// use. They need not be requested again, and stay for later builds.
func (b *Build) Adopts() bool { return b.adopts }

// named is an entry of the snapshot and the object loaded from it.
type named[S, L any] struct {
	source *S
	twice  bool
	loaded *L
}

// Listener returns the configuration for the clients of a farm. It is for use with
// tls.Server and must not be modified. The error names the missing or unusable part; no
// weaker configuration is returned. protocols are the ALPN protocols; none means HTTP.
func (b *Build) Listener(farmID uint32, t *farm.TLS, protocols ...string) (*tls.Config, error) {
	o, err := offerOf(t)
	if err != nil {
		return nil, err
	}
	if len(protocols) > 0 {
		o.http2, o.others = false, slices.Clone(protocols)
	}
	if len(t.Certificates) == 0 {
		return nil, errors.New("the farm has no certificate: add one")
	}
	key := digestOf("listener").number(uint64(farmID)).number(uint64(o.lowest)).number(uint64(o.highest)).flag(o.http2).text(string(t.Clients)).text(strings.Join(o.others, " "))
	for _, id := range o.suites {
		key.number(uint64(id))
	}
	key.text("curves")
	for _, id := range o.curves {
		key.number(uint64(id))
	}
	var certificates []*served
	for _, name := range t.Certificates {
		s, err := b.served(name)
		if err != nil {
			return nil, err
		}
		certificates = append(certificates, s)
		key.bytes(s.id[:]).bytes(s.stapled.OCSPStaple)
	}
	b.warnUnused(farmID, o, certificates)
	policy := digestOf("policy").number(uint64(farmID)).text(string(t.Clients))
	var client *authority
	if t.Clients != farm.ClientAuthOff {
		if client, err = b.authority(t.ClientCA); err != nil {
			return nil, fmt.Errorf("client_ca: %w", err)
		}
		key.bytes(client.id[:])
		policy.bytes(client.id[:])
	}
	l, err := reuse(b.old.listeners, b.next.listeners, key.sum(), func() (*listener, error) {
		return newListener(b.store, o, certificates, t.Clients, client, policy)
	})
	if err != nil {
		return nil, err
	}
	return l.full.config, nil
}

// Backend returns the TLS configurations for the backends of a service. protocols are
// offered by ALPN in that order. None disables ALPN, which HTTP/1.1 does not need.
func (b *Build) Backend(serviceID uint32, t *farm.BackendTLS, protocols ...string) (*Backend, error) {
	if err := CheckBackend(t); err != nil {
		return nil, err
	}
	verify := t.Verify
	if verify == "" {
		verify = farm.VerifyNone
	}
	key := digestOf("backend").number(uint64(serviceID)).text(string(verify)).text(t.Name).text(strings.Join(protocols, " "))
	var roots *x509.CertPool
	var revoked *revocations
	var client *pair
	var err error
	switch verify {
	case farm.VerifySystem:
		if roots, err = b.store.options.Roots(); err != nil {
			return nil, err
		}
	case farm.VerifyCA:
		a, err := b.authority(t.CA)
		if err != nil {
			return nil, fmt.Errorf("ca: %w", err)
		}
		roots, revoked = a.pool, &a.revoked
		key.bytes(a.id[:])
	}
	if t.Certificate != "" {
		if client, err = b.pair(t.Certificate); err != nil {
			return nil, err
		}
		key.bytes(client.id[:])
	}
	return reuse(b.old.backends, b.next.backends, key.sum(), func() (*Backend, error) {
		return newBackend(b.store, t, roots, revoked, client, slices.Clone(protocols)), nil
	})
}

// Warnings returns the problems that clients may reject, as sorted sentences without
// duplicates: expired certificates, chains out of order, unusable OCSP staples.
func (b *Build) Warnings() []string {
	slices.Sort(b.warnings)
	b.warnings = slices.Compact(b.warnings)
	return b.warnings
}

// Commit makes the build the base of the next one. It drops unused
// entries, unless it adopts the build before.
func (b *Build) Commit() {
	b.store.mu.Lock()
	defer b.store.mu.Unlock()
	if !b.adopts {
		b.next.most = 2*(len(b.next.listeners)+len(b.next.backends)) + fewUnused
	}
	b.store.current = b.next
}

// fewUnused is the number of objects without a user that may stay in any case.
const fewUnused = 64

// reuse returns the object with the digest from this build or the current one.
// Otherwise it calls build.
func reuse[T any](old, next map[digest]*T, id digest, build func() (*T, error)) (*T, error) {
	v := next[id]
	if v == nil {
		v = old[id]
	}
	if v == nil {
		var err error
		if v, err = build(); err != nil {
			return nil, err
		}
	}
	next[id] = v
	return v, nil
}

func (b *Build) served(name string) (*served, error) {
	p, err := b.pair(name)
	if err != nil {
		return nil, err
	}
	s, err := newServed(p, b.certificates[name].source.Staple)
	now := b.store.now()
	switch {
	case err != nil:
		b.warn("certificate %q: %v: it is served without a staple", name, err)
	case p.info.MustStaple && !s.staple.holds(now):
		b.warn("certificate %q: it demands an OCSP staple and there is none in force", name)
	}
	for _, w := range p.info.Warnings(now) {
		b.warn("certificate %q: %s", name, w)
	}
	return s, nil
}

// pair loads a certificate, at most once per build.
func (b *Build) pair(name string) (*pair, error) {
	n := b.certificates[name]
	if n == nil || n.twice {
		return nil, missing("certificate", name, n != nil)
	}
	if n.loaded != nil {
		return n.loaded, nil
	}
	id := digestOf("certificate").list(n.source.Chain).bytes(n.source.Key).sum()
	loaded, err := reuse(b.old.pairs, b.next.pairs, id, func() (*pair, error) {
		c, info, err := loadPair(n.source)
		return &pair{info: info, tls: c, id: id}, err
	})
	if err != nil {
		return nil, fmt.Errorf("certificate %q: %w", name, err)
	}
	n.loaded = loaded
	return loaded, nil
}

// authority loads an authority, at most once per build.
func (b *Build) authority(name string) (*authority, error) {
	n := b.authorities[name]
	if n == nil || n.twice {
		return nil, missing("authority", name, n != nil)
	}
	if n.loaded == nil {
		loaded, err := reuse(b.old.authorities, b.next.authorities, authorityDigest(n.source), func() (*authority, error) {
			return loadAuthority(n.source)
		})
		if err != nil {
			return nil, fmt.Errorf("authority %q: %w", name, err)
		}
		n.loaded = loaded
	}
	for _, w := range n.loaded.info.Warnings(b.store.now()) {
		b.warn("authority %q: %s", name, w)
	}
	return n.loaded, nil
}

func missing(what, name string, twice bool) error {
	if twice {
		return fmt.Errorf("%s %q is there twice", what, name)
	}
	return fmt.Errorf("%s %q is not there", what, name)
}

func (b *Build) warn(format string, args ...any) {
	b.warnings = append(b.warnings, fmt.Sprintf(format, args...))
}

// warnUnused warns if no certificate matches the ciphers of TLS 1.2 and below, so that
// only TLS 1.3 works.
func (b *Build) warnUnused(farmID uint32, o offer, certificates []*served) {
	if o.lowest == tls.VersionTLS13 {
		return
	}
	for _, c := range certificates {
		auth := authECDSA
		if c.info.kind.rsa() {
			auth = authRSA
		}
		if slices.ContainsFunc(o.suites, func(id uint16) bool { return suiteByID(id).auth == auth }) {
			return
		}
	}
	b.warn("farm %d: its ciphers go with none of its certificates: clients without TLS 1.3 are refused", farmID)
}
