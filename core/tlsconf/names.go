package tlsconf

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"net/netip"
	"strings"
)

// A host name has at most maxName bytes (RFC 1035 §2.3.4) and maxLabels
// labels; whatever is longer matches nothing.
const (
	maxName   = 255
	maxLabels = 64
)

// pattern is a name a certificate covers: an exact one, or with wildcard every
// name that has one label before key. key is in lower case, without a dot at
// the end; an address is as netip writes it.
type pattern struct {
	key      string
	wildcard bool
}

func (p pattern) String() string {
	if p.wildcard {
		return "*." + p.key
	}
	return p.key
}

// patternOf reads a DNS name of a certificate; false for what can match
// nothing, as a '*' that is not the whole first label (RFC 9525 §6.3).
func patternOf(name string) (pattern, bool) {
	rest, wildcard := strings.CutPrefix(name, "*.")
	var buf [maxName]byte
	key := normalize(&buf, rest)
	if key == nil || bytes.IndexByte(key, '*') >= 0 {
		return pattern{}, false
	}
	return pattern{string(key), wildcard}, true
}

// patternsOf are the names a certificate covers, each once: its DNS names and
// addresses or, when it has neither, its common name.
func patternsOf(c *x509.Certificate) []pattern {
	names := c.DNSNames
	if len(names) == 0 && len(c.IPAddresses) == 0 {
		names = []string{c.Subject.CommonName}
	}
	seen := make(map[pattern]bool, len(names))
	var patterns []pattern
	add := func(p pattern, ok bool) {
		if ok && !seen[p] {
			seen[p] = true
			patterns = append(patterns, p)
		}
	}
	for _, name := range names {
		add(patternOf(name))
	}
	for _, ip := range c.IPAddresses {
		addr, ok := netip.AddrFromSlice(ip)
		add(pattern{key: addr.String()}, ok)
	}
	return patterns
}

// normalize writes name to buf in lower case (ASCII; punycode and other bytes
// as they are) without the dot at its end, and returns that part of buf, or
// nil when it is no host name: empty, too long, or with an empty label.
func normalize(buf *[maxName]byte, name string) []byte {
	name = strings.TrimSuffix(name, ".")
	if name == "" || len(name) > maxName {
		return nil
	}
	labels, last := 1, byte('.')
	for i := range len(name) {
		c := name[i]
		if c == '.' {
			if last == '.' {
				return nil
			}
			labels++
		}
		if c >= 'A' && c <= 'Z' {
			c += 'a' - 'A'
		}
		buf[i], last = c, c
	}
	if last == '.' || labels > maxLabels {
		return nil
	}
	return buf[:len(name)]
}

// isAddress reports whether a normalized name is an IP address, which no
// wildcard covers. No top-level domain ends in a digit.
func isAddress(name []byte) bool {
	if last := name[len(name)-1]; bytes.IndexByte(name, ':') < 0 && (last < '0' || last > '9') {
		return false
	}
	_, err := netip.ParseAddr(string(name))
	return err == nil
}

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
