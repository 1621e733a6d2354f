package load_test

import (
	"crypto/tls"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sluicelb/sluice/bench/backend"
	"github.com/sluicelb/sluice/bench/cases"
	"github.com/sluicelb/sluice/bench/identity"
	"github.com/sluicelb/sluice/bench/load"
	"github.com/sluicelb/sluice/bench/measure"
)

// seen counts the events of a server.
type seen struct{ full, resumed, tickets, requests atomic.Int64 }

// serveTLS serves like the backend over TLS. edit, if not nil, modifies its
// configuration.
func serveTLS(t *testing.T, edit func(*tls.Config)) (load.Spec, *seen) {
	t.Helper()
	id, err := identity.New(t.TempDir(), cases.ECDSA)
	if err != nil {
		t.Fatal(err)
	}
	var counted seen
	config := &tls.Config{Certificates: []tls.Certificate{id.Certificate()}, MinVersion: tls.VersionTLS12}
	config.VerifyConnection = func(s tls.ConnectionState) error {
		if s.DidResume {
			counted.resumed.Add(1)
		} else {
			counted.full.Add(1)
		}
		return nil
	}
	config.WrapSession = func(cs tls.ConnectionState, ss *tls.SessionState) ([]byte, error) {
		counted.tickets.Add(1)
		return config.EncryptTicket(cs, ss)
	}
	if edit != nil {
		edit(config)
	}
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	sizes := map[string]int{"/128": backend.Small, "/10k": backend.Medium, "/1m": backend.Large}
	server := &http.Server{ErrorLog: log.New(io.Discard, "", 0), Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		counted.requests.Add(1)
		size, ok := sizes[r.URL.Path]
		if !ok {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Content-Length", fmt.Sprint(size))
		w.Header()["Date"] = nil
		_, _ = w.Write(make([]byte, size))
	})}
	go func() { _ = server.Serve(tls.NewListener(l, config)) }()
	t.Cleanup(func() { server.Close() })
	s := spec(netip.MustParseAddrPort(l.Addr().String()))
	s.TLS = &load.TLS{Leaf: id.Leaf}
	return s, &counted
}

func TestEveryKindOfSecureLoadSucceeds(t *testing.T) {
	for name, edit := range map[string]func(*load.Spec){
		"small":   func(*load.Spec) {},
		"medium":  func(s *load.Spec) { s.Path, s.Expect = "/10k", backend.Medium },
		"large":   func(s *load.Spec) { s.Path, s.Expect = "/1m", backend.Large },
		"post":    func(s *load.Spec) { s.Method, s.Body = "POST", 100<<10 },
		"narrow":  func(s *load.Spec) { s.Parallel = 2 },
		"full":    func(s *load.Spec) { s.New = true },
		"resumed": func(s *load.Spec) { s.New, s.TLS.Resume = true, true },
	} {
		t.Run(name, func(t *testing.T) {
			s, counted := serveTLS(t, nil)
			edit(&s)
			result := run(t, s)
			var h measure.Histogram
			h.Add(result.Latency)
			if result.Errors != 0 || result.Requests == 0 || h.Count() != result.Requests {
				t.Fatalf("%d requests, %d latencies, errors %v", result.Requests, h.Count(), result.Causes)
			}
			if want := result.Requests * uint64(s.Expect); result.BytesIn != want {
				t.Errorf("got %d bytes, want %d", result.BytesIn, want)
			}
			// The warm-up is one request, and one full handshake, per connection.
			warm := int64(s.Connections)
			if got := counted.requests.Load(); got != int64(result.Requests)+warm {
				t.Errorf("the server answered %d, the client counts %d and %d of the warm-up", got, result.Requests, warm)
			}
			full, resumed := warm, int64(0)
			if s.New && s.TLS.Resume {
				resumed = int64(result.Requests)
			} else if s.New {
				full += int64(result.Requests)
			}
			if counted.full.Load() != full || counted.resumed.Load() != resumed {
				t.Errorf("got %d full and %d resumed handshakes, want %d and %d", counted.full.Load(), counted.resumed.Load(), full, resumed)
			}
			if tickets := counted.tickets.Load(); (tickets > 0) != s.TLS.Resume {
				t.Errorf("the server issued %d tickets", tickets)
			}
		})
	}
}

func TestIncomparableHandshakeFailsTheWarmUp(t *testing.T) {
	for name, c := range map[string]struct {
		server func(*tls.Config)
		client func(*load.Spec)
		cause  string
	}{
		"version": {server: func(c *tls.Config) { c.MaxVersion = tls.VersionTLS12 }, cause: "handshake"},
		"group":   {server: func(c *tls.Config) { c.CurvePreferences = []tls.CurveID{tls.CurveP256} }, cause: "handshake"},
		"leaf":    {client: func(s *load.Spec) { s.TLS.Leaf = []byte("other") }, cause: "certificate"},
	} {
		t.Run(name, func(t *testing.T) {
			s, _ := serveTLS(t, c.server)
			if c.client != nil {
				c.client(&s)
			}
			client, err := load.NewClient(s)
			if err != nil {
				t.Fatal(err)
			}
			defer client.Close()
			if err := client.WarmUp(); err == nil || !strings.Contains(err.Error(), c.cause) {
				t.Errorf("%v", err)
			}
		})
	}
}

func TestServerWithoutResumptionIsAnError(t *testing.T) {
	s, _ := serveTLS(t, func(c *tls.Config) { c.SessionTicketsDisabled = true })
	s.New, s.TLS.Resume, s.Duration = true, true, 20*time.Millisecond
	result := run(t, s)
	if result.Requests != 0 || result.Errors == 0 {
		t.Errorf("%d requests, %d errors %v", result.Requests, result.Errors, result.Causes)
	}
	for cause := range result.Causes {
		if !strings.Contains(cause, "should be resumed") {
			t.Error(cause)
		}
	}
}

// TestCiphertextInPiecesIsPutTogether sends the server's bytes one at a time, including
// the handshake.
func TestCiphertextInPiecesIsPutTogether(t *testing.T) {
	s, _ := serveTLS(t, nil)
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	server := s.Target.String()
	go func() {
		c, err := l.Accept()
		if err != nil {
			return
		}
		defer c.Close()
		up, err := net.Dial("tcp", server)
		if err != nil {
			return
		}
		defer up.Close()
		go func() { _, _ = io.Copy(up, c) }()
		one := make([]byte, 1)
		for {
			if _, err := up.Read(one); err != nil {
				return
			}
			if _, err := c.Write(one); err != nil {
				return
			}
		}
	}()
	s.Target, s.Connections = netip.MustParseAddrPort(l.Addr().String()), 1
	if result := run(t, s); result.Errors != 0 || result.Requests == 0 {
		t.Errorf("%d requests, errors %v", result.Requests, result.Causes)
	}
}

func TestAnEarlyEndUnderTLSIsAnError(t *testing.T) {
	id, err := identity.New(t.TempDir(), cases.ECDSA)
	if err != nil {
		t.Fatal(err)
	}
	l, err := tls.Listen("tcp4", "127.0.0.1:0", &tls.Config{Certificates: []tls.Certificate{id.Certificate()}})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			buf := make([]byte, 4096)
			if _, err := c.Read(buf); err == nil {
				_, _ = io.WriteString(c, right)
				if _, err := c.Read(buf); err == nil {
					_, _ = io.WriteString(c, right[:len(right)-2])
				}
			}
			c.Close()
		}
	}()
	s := spec(netip.MustParseAddrPort(l.Addr().String()))
	s.TLS, s.Connections, s.Expect, s.Duration = &load.TLS{Leaf: id.Leaf}, 1, 5, 20*time.Millisecond
	result := run(t, s)
	if result.Causes["connection ended before the response was complete"] == 0 {
		t.Errorf("%d errors %v", result.Errors, result.Causes)
	}
}
