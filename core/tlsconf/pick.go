package tlsconf

import (
	"crypto/tls"
	"slices"
)

// certificateFor is the GetCertificate callback.
func (l *listener) certificateFor(hello *tls.ClientHelloInfo) (*tls.Certificate, error) {
	s := l.certificates[l.pick(hello)]
	return s.at(l.store.now()), nil
}

// pick returns the position of the certificate for the name and capabilities of the
// client.
func (l *listener) pick(hello *tls.ClientHelloInfo) int {
	var c candidates
	c.exact, c.wildcard = l.names.find(hello.ServerName)
	switch {
	case c.first() < 0:
		return l.pickDefault(hello)
	case c.single():
		return c.first()
	}
	return c.choose(l.kinds, l.supporter(hello))
}

// pickDefault returns the first certificate of the list. If the client does not support
// it, it returns one for the same name with a supported kind of key.
func (l *listener) pickDefault(hello *tls.ClientHelloInfo) int {
	if l.first.single() {
		return 0
	}
	supports := l.supporter(hello)
	for _, i := range slices.Concat(l.first.exact, l.first.wildcard) {
		if supports(i) {
			return i
		}
	}
	return 0
}

// defaults returns the first certificate of the list and its alternatives, which cover
// its first name by the same pattern.
func (l *listener) defaults() candidates {
	patterns := l.certificates[0].info.patterns
	switch {
	case len(patterns) == 0:
		return candidates{exact: []int{0}}
	case patterns[0].wildcard:
		return candidates{wildcard: l.names.wildcard[patterns[0].key]}
	}
	return candidates{exact: l.names.exact[patterns[0].key]}
}

// supporter returns a function that reports whether the client supports a certificate.
// The server name is removed: the index has matched it, and crypto/x509 ignores common
// names.
func (l *listener) supporter(hello *tls.ClientHelloInfo) func(int) bool {
	nameless := *hello
	nameless.ServerName = ""
	return func(i int) bool { return nameless.SupportsCertificate(&l.certificates[i].tls) == nil }
}
