package proxy_test

import (
	"crypto/tls"
	"errors"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/core/health"
	"github.com/sluicelb/sluice/l7/l7test"
)

// strictBackend is a TLS backend for the name a.test only. asked counts the handshakes for
// other names, which unknown handles.
func strictBackend(t *testing.T, multiplexed bool, c farm.Certificate, unknown func() (*tls.Certificate, error)) (addr string, asked *atomic.Int32) {
	t.Helper()
	asked = new(atomic.Int32)
	pair := l7test.KeyPair(t, c)
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { _, _ = io.WriteString(w, "ok") }))
	s.EnableHTTP2 = multiplexed
	s.Config.ErrorLog = log.New(io.Discard, "", 0)
	s.TLS = &tls.Config{GetCertificate: func(h *tls.ClientHelloInfo) (*tls.Certificate, error) {
		if h.ServerName == "a.test" {
			return &pair, nil
		}
		asked.Add(1)
		return unknown()
	}}
	s.StartTLS()
	t.Cleanup(s.Close)
	return s.Listener.Addr().String(), asked
}

// overTLS is a service with TLS to its backends.
func overTLS(multiplexed bool, b farm.BackendTLS, addrs ...string) farm.Service {
	s := l7test.Service("web", addrs...)
	s.TLS = &b
	if multiplexed {
		s.BackendProtocol = farm.BackendHTTP2
	}
	return s
}

func hostIs(host string) string { return "GET / HTTP/1.1\r\nHost: " + host + "\r\n\r\n" }

func usable(a *l7test.Appliance, ids ...uint32) bool {
	for _, id := range ids {
		if !a.Health.Slot(id).Usable() {
			return false
		}
	}
	return true
}

var ways = map[string]bool{"HTTP/1": false, "HTTP/2": true}

func TestAHandshakeThatFailsForTheNameOfTheClientFailsThatExchangeOnly(t *testing.T) {
	t.Parallel()
	known := l7test.Certificate(t, "backend.pem", "a.test")
	for way, multiplexed := range ways {
		for name, c := range map[string]struct {
			tls     farm.BackendTLS
			unknown func() (*tls.Certificate, error)
			cause   string
		}{
			"strict names": {farm.BackendTLS{}, func() (*tls.Certificate, error) { return nil, errors.New("no such name") }, "tls: "},
			"verified": {farm.BackendTLS{Verify: farm.VerifyCA, CA: "own"}, func() (*tls.Certificate, error) {
				pair := l7test.KeyPair(t, known)
				return &pair, nil
			}, "the certificate of the backend is for other names than the request's"},
		} {
			t.Run(way+"/"+name, func(t *testing.T) {
				t.Parallel()
				a := l7test.New(t, 1)
				a.Authorities = []farm.Authority{{Name: "own", Certificates: known.Chain}}
				var addrs []string
				var asked []*atomic.Int32
				for range 5 {
					addr, n := strictBackend(t, multiplexed, known, c.unknown)
					addrs, asked = append(addrs, addr), append(asked, n)
				}
				addr := a.Serve(logs, overTLS(multiplexed, c.tls, addrs...))
				r := l7test.RecordsOf(t, a)
				if got := l7test.Dial(t, addr).Send(hostIs("evil.test")).Get(); got.StatusCode != 502 {
					t.Errorf("the unknown name got %d, want 502", got.StatusCode)
				}
				if l := r.Next(); l.Status != 502 || classOf(a, l) != "backend-handshake" || l.Tries != 3 {
					t.Errorf("the record has %d %q after %d tries", l.Status, classOf(a, l), l.Tries)
				}
				handshakes := int32(0)
				for _, n := range asked {
					handshakes += n.Load()
				}
				if handshakes != 3 {
					t.Errorf("%d handshakes for one request, want 3", handshakes)
				}
				if !usable(a, 1, 2, 3, 4, 5) {
					t.Error("the failed handshake marked a backend down")
				}
				l7test.Eventually(t, "the log says why", func() bool {
					lines := a.Log.Lines("class=backend-handshake")
					return len(lines) == 3 && strings.Contains(lines[2], c.cause) && strings.Contains(lines[2], "status=502") && strings.Contains(lines[2], "backend=127.0.0.1:")
				})
				for range 5 {
					if got := l7test.Dial(t, addr).Send(hostIs("a.test")).Get(); got.StatusCode != 200 {
						t.Errorf("other names get %d", got.StatusCode)
					}
				}
			})
		}
	}
}

func TestABackendThatFailsForANameIsNoReasonNotToAskTheNext(t *testing.T) {
	t.Parallel()
	known, other := l7test.Certificate(t, "backend.pem", "a.test"), l7test.Certificate(t, "other.pem", "b.test")
	for way, multiplexed := range ways {
		t.Run(way, func(t *testing.T) {
			t.Parallel()
			wrong, _ := strictBackend(t, multiplexed, other, nil)
			right, _ := strictBackend(t, multiplexed, known, nil)
			a := l7test.New(t, 1)
			a.Authorities = []farm.Authority{{Name: "own", Certificates: append(known.Chain, other.Chain...)}}
			addr := a.Serve(nil, overTLS(multiplexed, farm.BackendTLS{Verify: farm.VerifyCA, CA: "own"}, wrong, right))
			for range 4 {
				if got := l7test.Dial(t, addr).Send(hostIs("a.test")).Get(); got.StatusCode != 200 {
					t.Errorf("answered %d", got.StatusCode)
				}
			}
			if !usable(a, 1, 2) {
				t.Error("a backend is down")
			}
			if n := a.Segment.SumBackend(1).ConnectFailures; n == 0 {
				t.Error("no failure is counted")
			}
		})
	}
}

func TestABackendThatIsSilentForANameIsNotDown(t *testing.T) {
	t.Parallel()
	known := l7test.Certificate(t, "backend.pem", "a.test")
	release := make(chan struct{})
	addr, _ := strictBackend(t, false, known, func() (*tls.Certificate, error) { <-release; return nil, errors.New("late") })
	t.Cleanup(func() { close(release) })
	a := l7test.New(t, 1)
	front := a.Serve(func(h *farm.HTTP) { h.ConnectTimeout = 1 }, overTLS(false, farm.BackendTLS{}, addr))
	if got := l7test.Dial(t, front).Send(hostIs("slow.test")).Get(); got.StatusCode != 502 {
		t.Errorf("answered %d, want 502", got.StatusCode)
	}
	if !usable(a, 1) {
		t.Error("it is down")
	}
	l7test.Eventually(t, "the log says why", func() bool { return a.Log.Has("handshake was not complete in time") })
}

// A PROXY header contains the client's address, so a refusal concerns that client only.
func TestAHandshakeThatFailsAfterAnIntroductionFailsThatExchangeOnly(t *testing.T) {
	t.Parallel()
	b := l7test.NewBackend(t, func(c *l7test.Recorder) { _, _ = c.Read(make([]byte, 4096)) })
	a := l7test.New(t, 1)
	s := overTLS(false, farm.BackendTLS{Name: "fixed.test"}, b.Addr)
	s.ProxyOut = farm.ProxyOutV2
	if got := l7test.Dial(t, a.Serve(nil, s)).Send(hostIs("a.test")).Get(); got.StatusCode != 502 {
		t.Errorf("answered %d, want 502", got.StatusCode)
	}
	if !usable(a, 1) {
		t.Error("it is down")
	}
}

func TestAHandshakeThatFailsForAllMarksTheBackendDown(t *testing.T) {
	t.Parallel()
	for way, multiplexed := range ways {
		t.Run(way, func(t *testing.T) {
			t.Parallel()
			known := l7test.Certificate(t, "backend.pem", "a.test")
			backend, _ := strictBackend(t, multiplexed, known, func() (*tls.Certificate, error) { return nil, errors.New("no such name") })
			a := l7test.New(t, 1)
			addr := a.Serve(nil, overTLS(multiplexed, farm.BackendTLS{Name: "fixed.test"}, backend))
			if got := l7test.Dial(t, addr).Send(hostIs("a.test")).Get(); got.StatusCode != 503 {
				t.Errorf("answered %d, want 503", got.StatusCode)
			}
			if a.Health.Slot(1).Passive() != health.Down {
				t.Error("it is not down")
			}
		})
	}
}

func TestABackendThatRefusesTheConnectionIsDownWhateverTheName(t *testing.T) {
	t.Parallel()
	gone := l7test.NewBackend(t, l7test.Answer(ok))
	gone.Close()
	for way, multiplexed := range ways {
		t.Run(way, func(t *testing.T) {
			a := l7test.New(t, 1)
			addr := a.Serve(nil, overTLS(multiplexed, farm.BackendTLS{}, gone.Addr))
			if got := l7test.Dial(t, addr).Send(hostIs("a.test")).Get(); got.StatusCode != 503 {
				t.Errorf("answered %d, want 503", got.StatusCode)
			}
			if a.Health.Slot(1).Passive() != health.Down {
				t.Error("it is not down")
			}
		})
	}
}

func TestAnExchangeWaitsForAPlaceAfterANameFailed(t *testing.T) {
	t.Parallel()
	known := l7test.Certificate(t, "backend.pem", "a.test")
	strict, asked := strictBackend(t, false, known, func() (*tls.Certificate, error) { return nil, errors.New("no such name") })
	a := l7test.New(t, 1)
	s := overTLS(false, farm.BackendTLS{}, strict)
	s.Queue, s.QueueTimeout = 4, 600 // the wait cannot succeed and must end before that
	s.Backends[0].ConnLimit = 1
	if got := l7test.Dial(t, a.Serve(nil, s)).Send(hostIs("evil.test")).Get(); got.StatusCode != 502 || asked.Load() != 1 {
		t.Errorf("answered %d after %d handshakes", got.StatusCode, asked.Load())
	}
}

// If a name worked before, silence about it means that the backend hangs.
func TestABackendThatFallsSilentForANameThatWorkedIsDown(t *testing.T) {
	t.Parallel()
	known := l7test.Certificate(t, "backend.pem", "a.test")
	var hangs atomic.Bool
	release := make(chan struct{})
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { w.Header().Set("Connection", "close") }))
	pair := l7test.KeyPair(t, known)
	s.TLS = &tls.Config{GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) {
		if hangs.Load() {
			<-release
		}
		return &tls.Config{Certificates: []tls.Certificate{pair}}, nil
	}}
	s.Config.ErrorLog = log.New(io.Discard, "", 0)
	s.StartTLS()
	t.Cleanup(s.Close)
	t.Cleanup(func() { close(release) })
	a := l7test.New(t, 1)
	front := a.Serve(func(h *farm.HTTP) { h.ConnectTimeout = 1 }, overTLS(false, farm.BackendTLS{}, s.Listener.Addr().String()))
	if got := l7test.Dial(t, front).Send(hostIs("a.test")).Get(); got.StatusCode != 200 {
		t.Fatalf("answered %d", got.StatusCode)
	}
	hangs.Store(true)
	if got := l7test.Dial(t, front).Send(hostIs("b.test")).Get(); got.StatusCode != 502 || !usable(a, 1) {
		t.Errorf("another name got %d, usable %t", got.StatusCode, usable(a, 1))
	}
	if got := l7test.Dial(t, front).Send(hostIs("a.test")).Get(); got.StatusCode != 503 || usable(a, 1) {
		t.Errorf("the name got %d, usable %t", got.StatusCode, usable(a, 1))
	}
}

// A name may be withdrawn. Only silence counts against the backend.
func TestABackendThatRefusesANameThatWorkedIsNotDown(t *testing.T) {
	t.Parallel()
	pair := l7test.KeyPair(t, l7test.Certificate(t, "backend.pem", "a.test"))
	var gone atomic.Bool
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { w.Header().Set("Connection", "close") }))
	s.Config.ErrorLog = log.New(io.Discard, "", 0)
	s.TLS = &tls.Config{GetConfigForClient: func(h *tls.ClientHelloInfo) (*tls.Config, error) {
		if h.ServerName == "b.test" && gone.Load() {
			return nil, errors.New("no such name any more")
		}
		return &tls.Config{Certificates: []tls.Certificate{pair}}, nil
	}}
	s.StartTLS()
	t.Cleanup(s.Close)
	a := l7test.New(t, 1)
	front := a.Serve(nil, overTLS(false, farm.BackendTLS{}, s.Listener.Addr().String()))
	for i, want := range []int{200, 502} {
		gone.Store(i == 1)
		if got := l7test.Dial(t, front).Send(hostIs("b.test")).Get(); got.StatusCode != want {
			t.Errorf("the name got %d, want %d", got.StatusCode, want)
		}
	}
	if got := l7test.Dial(t, front).Send(hostIs("a.test")).Get(); got.StatusCode != 200 || !usable(a, 1) {
		t.Errorf("another name got %d, usable %t", got.StatusCode, usable(a, 1))
	}
}
