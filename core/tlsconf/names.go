package tlsconf

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"net/netip"
	"strings"
)

// A host name has at most maxName bytes (RFC 1035 §2.3.4) and maxLabels labels. Longer
// names match nothing.
const (
	maxName   = 255
	maxLabels = 64
)

// pattern is a name covered by a certificate: an exact name, or with wildcard every
// name with one label before key. key is in lower case without trailing dot. Addresses
// have the format of netip.
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

// patternOf parses a DNS name of a certificate. It returns false for names that match
// nothing, e.g. a '*' that is not the whole first label (RFC 9525 §6.3).
func patternOf(name string) (pattern, bool) {
	rest, wildcard := strings.CutPrefix(name, "*.")
	var buf [maxName]byte
	key := normalize(&buf, rest)
	if key == nil || bytes.IndexByte(key, '*') >= 0 {
		return pattern{}, false
	}
	return pattern{string(key), wildcard}, true
}

// patternsOf returns the names that a certificate covers, without duplicates: its DNS
// names and addresses or, if it has neither, its common name.
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

// normalize writes name to buf in lower case without trailing dot and returns that part
// of buf. It folds ASCII letters only. It returns nil if name is not a host name:
// empty, too long, or with an empty label.
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

// isAddress reports whether a normalized name is an IP address, which wildcards do not
// cover. No top-level domain ends in a digit.
func isAddress(name []byte) bool {
	if last := name[len(name)-1]; bytes.IndexByte(name, ':') < 0 && (last < '0' || last > '9') {
		return false
	}
	_, err := netip.ParseAddr(string(name))
	return err == nil
}

// Names reports which server names lead to the same certificate on a farm. It is
// immutable and safe for concurrent use.
type Names struct{ listener *listener }

// Names returns the Names of a configuration that Listener returned in this build, or
// nil for any other.
func (b *Build) Names(config *tls.Config) *Names {
	for _, l := range b.next.listeners {
		if l.full.config == config {
			return &Names{l}
		}
	}
	return nil
}

// Same reports whether clients get the same certificate for both names, with any supported
// kinds of keys. An empty name or an address selects the default, because clients cannot send
// addresses as SNI (RFC 6066, section 3).
func (n *Names) Same(one, other string) bool {
	l := n.listener
	a, b := l.candidatesFor(one), l.candidatesFor(other)
	if a.single() && b.single() {
		return a.first() == b.first()
	}
	return l.choice(a, keyKind.any) == l.choice(b, keyKind.any) && l.choice(a, keyKind.rsa) == l.choice(b, keyKind.rsa)
}

// candidatesFor returns the certificates for a name, or the default ones.
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

// choice returns the certificate for a client that supports the given kinds of keys.
func (l *listener) choice(c candidates, usable func(keyKind) bool) int {
	return c.choose(l.kinds, func(i int) bool { return usable(l.kinds[i]) })
}
