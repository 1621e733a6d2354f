package proxy_test

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"testing"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/l7/l7test"
)

// An engine opens its own connections, so client and backend may use different IP versions.
func TestBackendsOfTheOtherIPVersionAnswer(t *testing.T) {
	for name, c := range map[string]struct{ vip, backend string }{
		"IPv6 behind IPv4": {"127.0.0.1", "[::1]:0"}, "IPv4 behind IPv6": {"::1", "127.0.0.1:0"},
	} {
		t.Run(name, func(t *testing.T) {
			ln, err := net.Listen("tcp", c.backend)
			if err != nil {
				t.Fatal(err)
			}
			back := &httptest.Server{Listener: ln, Config: &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				_, _ = io.WriteString(w, r.Header.Get("X-Forwarded-For"))
			})}}
			back.Start()
			t.Cleanup(back.Close)
			a := l7test.New(t, 2)
			a.Farm = farm.Farm{ID: 1, Name: "test", Profile: farm.ProfileHTTP, VIP: netip.MustParseAddr(c.vip), HTTP: farm.DefaultHTTP()}
			a.Farm.VPort = a.Listen(t, c.vip).Port()
			at := a.Serve(nil, l7test.Service("web", ln.Addr().String()))
			conn, err := net.Dial("tcp", at)
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			_, _ = io.WriteString(conn, "GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
			answer, err := http.ReadResponse(bufio.NewReader(conn), nil)
			if err != nil {
				t.Fatal(err)
			}
			body, _ := io.ReadAll(answer.Body)
			if answer.StatusCode != 200 || string(body) != c.vip {
				t.Errorf("%d %q, the client is %s", answer.StatusCode, body, c.vip)
			}
		})
	}
}
