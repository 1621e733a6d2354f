package tlsconf

import (
	"crypto/x509"
	"time"
	"unsafe"

	"github.com/sluicelb/sluice/core/farm"
)

// VersionRange exports versionRange to tests.
var VersionRange = versionRange

// ParseCiphers exports parseCiphers to tests.
var ParseCiphers = parseCiphers

// Size returns the number of configurations of the build in use.
func (s *Store) Size() int { return len(s.current.listeners) + len(s.current.backends) }

// Words returns all keywords.
func Words() []string {
	var words []string
	for w := range keywords {
		words = append(words, w)
	}
	return words
}

// SuiteNames maps suites to OpenSSL's names.
func SuiteNames() map[uint16]string {
	names := make(map[uint16]string)
	for i := range suites {
		names[suites[i].id] = suites[i].name
	}
	return names
}

// Known reports whether a cipher string may contain that word.
func Known(name string) bool {
	_, ok := vocabulary()[name]
	return ok || tls13Names[name]
}

// Kinds is the number of kinds of keys; the third to fifth are ECDSA.
const Kinds = int(keyEd25519) + 1

// KindECDSA reports whether a kind is ECDSA.
func KindECDSA(kind int) bool { return keyKind(kind).ecdsa() }

// Choose runs the index over lists of names, each with the kind of its key. It returns
// -1 if no list covers the query.
func Choose(lists [][]string, kinds []int, query string, supports func(kind int) bool) int {
	var patterns [][]pattern
	var keys []keyKind
	for i, names := range lists {
		var ps []pattern
		for _, name := range names {
			if p, ok := patternOf(name); ok {
				ps = append(ps, p)
			} else {
				ps = append(ps, pattern{key: name})
			}
		}
		patterns, keys = append(patterns, ps), append(keys, keyKind(kinds[i]))
	}
	ix := newIndex(patterns, keys)
	var c candidates
	c.exact, c.wildcard = ix.find(query)
	switch {
	case c.first() < 0:
		return -1
	case c.single() && supports(kinds[c.first()]):
		return c.first()
	}
	return c.choose(keys, func(i int) bool { return supports(kinds[i]) })
}

// ParseStaple exports parseStaple to tests.
func ParseStaple(der []byte, leaf *x509.Certificate) (from, until time.Time, err error) {
	s, err := parseStaple(der, leaf)
	return s.from, s.until, err
}

// BackendConfigs returns the number of configurations in a backend set.
func BackendConfigs(b *Backend) int {
	b.mu.RLock()
	defer b.mu.RUnlock()
	return len(b.kept) + len(b.fresh)
}

// Revoked checks a certificate against the CRLs of a one-certificate authority. nil
// means an unverified chain.
func Revoked(a *farm.Authority, der []byte) error {
	loaded, err := loadAuthority(a)
	if err != nil {
		return err
	}
	if der == nil {
		return loaded.revoked.verified(nil, time.Now())
	}
	c, err := x509.ParseCertificate(der)
	if err != nil {
		return err
	}
	top, err := x509.ParseCertificate(a.Certificates[0])
	if err != nil {
		return err
	}
	return loaded.revoked.verified([][]*x509.Certificate{{c, top}}, time.Now())
}

// View returns b as a string that shares its memory.
func View(b []byte) string { return unsafe.String(&b[0], len(b)) }
