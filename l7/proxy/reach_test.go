package proxy_test

import (
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"testing"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/core/health"
	"github.com/sluicelb/sluice/l7/l7test"
)

// If a change removes the obstacle to reaching a down backend, the backend is used at once,
// not after resurrectime.
func TestABackendThatIsReachedOtherwiseIsTriedAtOnce(t *testing.T) {
	t.Parallel()
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "ok") }))
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	server.StartTLS()
	t.Cleanup(server.Close)
	s := l7test.Service("web", server.Listener.Addr().String())
	wrong := map[string]func(s *farm.Service){
		"another verification": func(s *farm.Service) { s.TLS.Verify = farm.VerifySystem },
		"another source":       func(s *farm.Service) { s.Backends[0].Source = netip.MustParseAddr("192.0.2.77") },
	}
	for name, spoil := range wrong {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := l7test.New(t, 1)
			s := s
			s.TLS = &farm.BackendTLS{Name: "a.test"} // with the client's name, a failure would not count against the backend
			good := s
			bad := s
			tls := *s.TLS
			bad.TLS, bad.Backends = &tls, append([]farm.Backend(nil), s.Backends...)
			spoil(&bad)
			patient := func(h *farm.HTTP) { h.ResurrectTime = 3600 }
			addr := a.Serve(patient, bad)
			ask := func() int { return l7test.Dial(t, addr).Send(request()).Get().StatusCode }
			if code := ask(); code < 500 {
				t.Fatalf("reached: %d", code)
			}
			a.Serve(patient, bad)
			if a.Health.Slot(1).Passive() != health.Down {
				t.Error("an unchanged configuration reset the state down")
			}
			a.Serve(patient, good)
			if code := ask(); code != 200 {
				t.Errorf("after the correction: %d", code)
			}
		})
	}
}
