// Package acmetest provides an ACME authority for tests: Pebble in the test's own process,
// with a name server for the test's domains. It contacts a port chosen by the test, and its
// certificates are untrusted.
package acmetest

import (
	"encoding/pem"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync"
	"testing"

	"github.com/letsencrypt/pebble/v2/ca"
	"github.com/letsencrypt/pebble/v2/db"
	"github.com/letsencrypt/pebble/v2/va"
	"github.com/letsencrypt/pebble/v2/wfe"
)

// Life is the lifetime of certificates in seconds: 90 days.
const Life = 90 * 24 * 3600

// Authority is a running authority.
type Authority struct {
	server *httptest.Server
	names  *NameServer

	mu    sync.Mutex
	hold  chan struct{}
	asked map[string]int // requests by part of the API
}

// New starts an authority that validates the given domains at 127.0.0.1 on httpPort.
// badNonces is the percentage of nonces that it rejects.
func New(t testing.TB, httpPort int, badNonces string, domains ...string) *Authority {
	t.Helper()
	return NewAt(t, netip.AddrPortFrom(netip.AddrFrom4([4]byte{127, 0, 0, 1}), uint16(httpPort)), badNonces, domains...)
}

// NewAt is New for another IPv4 address of the domains.
func NewAt(t testing.TB, at netip.AddrPort, badNonces string, domains ...string) *Authority {
	t.Helper()
	t.Setenv("PEBBLE_VA_NOSLEEP", "1")
	t.Setenv("PEBBLE_WFE_NONCEREJECT", badNonces)
	t.Setenv("PEBBLE_AUTHZREUSE", "0")
	quiet := log.New(io.Discard, "", 0)
	store := db.NewMemoryStore()
	names := NewNameServer(t, at.Addr(), domains)
	issuer := ca.New(quiet, store, "", "ecdsa", 0, 1, map[string]ca.Profile{"default": {Description: "90 days", ValidityPeriod: Life}})
	validator := va.New(quiet, int(at.Port()), 1, false, names.Addr(), store)
	front := wfe.New(quiet, store, validator, issuer, []string{"pebble.letsencrypt.org"}, false, false, 1, 1)
	a := &Authority{names: names, asked: map[string]int{}}
	a.server = httptest.NewTLSServer(a.counted(front.Handler()))
	a.server.Config.ErrorLog = quiet
	t.Cleanup(func() { a.Hold(false); a.server.Close() })
	return a
}

// Directory returns the address of the directory.
func (a *Authority) Directory() string { return a.server.URL + wfe.DirectoryPath }

// RootPEM returns the certificate that verifies the directory.
func (a *Authority) RootPEM() []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: a.server.Certificate().Raw})
}

// Names returns the name server that the authority queries.
func (a *Authority) Names() *NameServer { return a.names }

// Close stops the authority.
func (a *Authority) Close() { a.server.Close() }

// Hold makes the authority pause when it is notified of a ready challenge, until Hold is
// called with false.
func (a *Authority) Hold(on bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.hold != nil {
		close(a.hold)
		a.hold = nil
	}
	if on {
		a.hold = make(chan struct{})
	}
}

// Asked returns the number of requests to a part of the API, e.g. "sign-me-up".
func (a *Authority) Asked(part string) int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.asked[part]
}

func (a *Authority) counted(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		part, _, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
		a.mu.Lock()
		a.asked[part]++
		hold := a.hold
		a.mu.Unlock()
		if hold != nil && part == "chalZ" {
			select {
			case <-hold:
			case <-r.Context().Done():
				return
			}
		}
		next.ServeHTTP(w, r)
	})
}
