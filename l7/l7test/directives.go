package l7test

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"

	"github.com/sluicelb/sluice/core/farm"
)

// OK is a response with a body of two bytes.
const OK = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"

// Get returns a request for a path.
func Get(path string) string { return "GET " + path + " HTTP/1.1\r\nHost: a.test\r\n\r\n" }

// Request returns a GET with these field lines.
func Request(lines ...string) string {
	return "GET / HTTP/1.1\r\nHost: a.test\r\n" + strings.Join(append(lines, "\r\n"), "\r\n")
}

// NewNamed starts a backend that responds to every request without a body with its name.
func NewNamed(t testing.TB, name string) *Backend {
	t.Helper()
	return NewBackend(t, Answer(fmt.Sprintf("HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s", len(name), name)))
}

// Sticky returns a service with sessions by the cookie SID.
func Sticky(ttl farm.Seconds, addrs ...string) farm.Service {
	s := Service("web", addrs...)
	s.Persistence, s.SessionID, s.TTL = farm.PersistCookie, "SID", ttl
	return s
}

// Inserting returns a service with an inserted cookie.
func Inserting(addrs ...string) farm.Service {
	s := Service("web", addrs...)
	s.Cookie = &farm.CookieInsert{Name: "LB", Domain: "a.test", Path: "/app", TTL: 300}
	return s
}

// Come sends a request with that cookie and returns the name of the backend.
func Come(t testing.TB, addr, cookie string) string {
	t.Helper()
	res := Dial(t, addr).Send("GET / HTTP/1.1\r\nHost: a.test\r\nCookie: SID=" + cookie + "\r\n\r\n").Get()
	if res.StatusCode != 200 {
		t.Fatalf("%s is answered %s", cookie, res.Status)
	}
	return res.Text
}

// Logged enables the logging of a farm.
func Logged(h *farm.HTTP) { h.Logs = true }

// Remove returns rules that remove the matching fields.
func Remove(patterns ...string) (out []farm.HeaderRemove) {
	for _, p := range patterns {
		out = append(out, farm.HeaderRemove{Pattern: p})
	}
	return out
}

// Add returns rules that add field lines.
func Add(lines ...string) (out []farm.HeaderAdd) {
	for _, l := range lines {
		out = append(out, farm.HeaderAdd{Header: l})
	}
	return out
}

// Networks parses prefixes.
func Networks(texts ...string) (out []netip.Prefix) {
	for _, text := range texts {
		out = append(out, netip.MustParsePrefix(text))
	}
	return out
}
