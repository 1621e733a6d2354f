package api

import (
	"context"
	"crypto/x509"
	"net"
	"net/netip"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/sluicelb/sluice/mgmt/api/rest"
	"github.com/sluicelb/sluice/mgmt/api/system"
)

// names holds the names by which browsers may reach the API. A name that an attacker points
// here (DNS rebinding) is not one of them.
type names struct {
	settings    system.Settings
	certificate *x509.Certificate        // of the API; nil: none
	chosen      func() *x509.Certificate // replaces it; nil: never
	own         func() []string
	now         func() time.Time

	mu    sync.Mutex
	known []string  // the last result of own
	until time.Time // when own is called again
}

// ownNamesAge is how long the result of own is cached.
const ownNamesAge = time.Minute

// are reports whether the name in a Host header belongs to this machine. It must be an
// address (which cannot be rebound), a name of the certificate, a configured name, or the
// name of the host.
func (n *names) are(host string) bool {
	name := rest.BareName(rest.HostOnly(host))
	if _, err := netip.ParseAddr(name); err == nil {
		return true
	}
	return name == "localhost" || strings.HasSuffix(name, ".localhost") ||
		n.certificate != nil && n.certificate.VerifyHostname(name) == nil || n.isChosen(name) ||
		slices.Contains(system.Names(n.settings), name) || slices.Contains(n.hosts(), name)
}

// isChosen reports whether the name is in the configured certificate.
func (n *names) isChosen(name string) bool {
	if n.chosen == nil {
		return false
	}
	c := n.chosen()
	return c != nil && c.VerifyHostname(name) == nil
}

func (n *names) hosts() []string {
	n.mu.Lock()
	defer n.mu.Unlock()
	if now := n.now(); n.known == nil || !now.Before(n.until) {
		n.known, n.until = []string{}, now.Add(ownNamesAge)
		for _, name := range n.own() {
			name = rest.BareName(name)
			short, _, _ := strings.Cut(name, ".")
			n.known = append(n.known, name, short)
		}
	}
	return n.known
}

// hostNames returns the name of this machine, and the one with its domain if it can be
// resolved.
func hostNames() []string {
	name, err := os.Hostname()
	if err != nil || name == "" {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	if whole, err := net.DefaultResolver.LookupCNAME(ctx, name); err == nil {
		return []string{name, whole}
	}
	return []string{name}
}
