package e2e_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"
)

// The sandboxed engine accepts and sends PROXY protocol headers.
func TestPROXYHeadersAreReadAndSent(t *testing.T) {
	asEachUser(t, func(t *testing.T, who identity) {
		announced := rawBackend(t, func(c net.Conn, r *bufio.Reader) {
			_ = c.SetDeadline(time.Now().Add(30 * time.Second))
			line, err := r.ReadString('\n')
			if err != nil {
				return
			}
			req, err := http.ReadRequest(r)
			if err != nil {
				return
			}
			text := strings.TrimSpace(line) + ", " + req.Header.Get("X-Forwarded-For")
			_, _ = fmt.Fprintf(c, "HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s", len(text), text)
		})
		a := start(t, who, dataDir(t, who))
		addr := strings.TrimSuffix(strings.TrimPrefix(a.farm("shop", announced), "http://"), "/")
		if out, code := a.run("farm", "set", "shop", "proxyprotocol_in=required"); code != 1 || !strings.Contains(out, "send trusted with it") {
			t.Errorf("anybody may introduce clients: %d %s", code, out)
		}
		a.must("farm", "set", "shop", "proxyprotocol_in=required", "trusted=127.0.0.0/8")
		a.must("service", "set", "shop", "all", "proxyprotocol_out=v1")
		_, port, _ := net.SplitHostPort(addr)
		for send, want := range map[string]string{
			"PROXY TCP4 192.0.2.1 198.51.100.2 40000 443\r\n": "PROXY TCP4 192.0.2.1 127.0.0.1 40000 " + port + ", 192.0.2.1",
			"": "",
		} {
			c, err := net.Dial("tcp", addr)
			if err != nil {
				t.Fatal(err)
			}
			_ = c.SetDeadline(time.Now().Add(10 * time.Second))
			_, _ = io.WriteString(c, send+"GET / HTTP/1.1\r\nHost: a.test\r\n\r\n")
			got := ""
			if res, err := http.ReadResponse(bufio.NewReader(c), nil); err == nil {
				text, _ := io.ReadAll(res.Body)
				got = string(text)
			}
			if got != want {
				t.Errorf("%q: got %q, want %q", send, got, want)
			}
			_ = c.Close()
		}
		a.must("farm", "set", "shop", "proxyprotocol_in=off")
	})
}
