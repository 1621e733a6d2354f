package tlsconf

import "crypto/tls"

// Names tells which names clients of a farm would see the same certificate
// for. It is immutable; any goroutine may use it.
type Names struct{ listener *listener }

// Names returns those of a configuration that Listener returned in this build;
// nil for any other.
func (b *Build) Names(config *tls.Config) *Names {
	for _, l := range b.next.listeners {
		if l.full.config == config {
			return &Names{l}
		}
	}
	return nil
}

// Same reports whether a client that asks for the one name is shown what it
// would be for the other, whichever kinds of keys it can use: nobody can tell
// afterwards. An empty name and an address ask for nothing, because clients
// cannot ask for an address (RFC 6066, section 3).
func (n *Names) Same(one, other string) bool {
	l := n.listener
	a, b := l.candidatesFor(one), l.candidatesFor(other)
	if a.single() && b.single() {
		return a.first() == b.first()
	}
	return l.choice(a, keyKind.any) == l.choice(b, keyKind.any) && l.choice(a, keyKind.rsa) == l.choice(b, keyKind.rsa)
}

// candidatesFor are the certificates for a name, those by default included.
func (l *listener) candidatesFor(name string) candidates {
	var buf [maxName]byte
	key := normalize(&buf, name)
	if key == nil || isAddress(key) {
		return l.first
	}
	var c candidates
	if c.exact, c.wildcard = l.names.find(name); c.first() < 0 {
		return l.first
	}
	return c
}

// choice is what a client sees of the candidates that can use these kinds.
func (l *listener) choice(c candidates, usable func(keyKind) bool) int {
	return c.choose(l.kinds, func(i int) bool { return usable(l.kinds[i]) })
}
