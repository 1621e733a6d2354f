package e2e_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// A rename is no restart: connections continue, even in the middle of a response, and
// counters, sessions and logs are kept under the new name.
func TestRunningFarmIsRenamedUnderTraffic(t *testing.T) {
	asEachUser(t, func(t *testing.T, who identity) {
		data := dataDir(t, who)
		a := start(t, who, data)
		half := make(chan struct{})
		host := backend(t, "one")
		slow := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.WriteString(w, "begun ")
			_ = http.NewResponseController(w).Flush()
			<-half
			_, _ = io.WriteString(w, "ended")
		}))
		t.Cleanup(slow.Close)
		port := freePort(t)
		a.must("farm", "create", "shop", "vip=127.0.0.1", fmt.Sprintf("vport=%d", port), "logs=true")
		a.must("service", "create", "shop", "slow", "urlp=^/slow")
		a.must("backend", "create", "shop", "slow", slow.Listener.Addr().String())
		a.must("service", "create", "shop", "web", "persistence=IP")
		a.must("backend", "create", "shop", "web", host)
		conn, err := net.Dial("tcp4", fmt.Sprintf("127.0.0.1:%d", port))
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		_ = conn.SetDeadline(time.Now().Add(30 * time.Second))
		in := bufio.NewReader(conn)
		ask := func(path string) *http.Response {
			t.Helper()
			fmt.Fprintf(conn, "GET %s HTTP/1.1\r\nHost: a\r\n\r\n", path)
			resp, err := http.ReadResponse(in, nil)
			if err != nil {
				t.Fatal(err)
			}
			return resp
		}
		whole := func(resp *http.Response) string {
			t.Helper()
			b, err := io.ReadAll(resp.Body)
			if err != nil {
				t.Fatal(err)
			}
			return string(b)
		}
		whole(ask("/"))
		pending := ask("/slow")
		if out := a.must("farm", "rename", "shop", "store"); !strings.Contains(out, "has been renamed to store") {
			t.Errorf("output %q", out)
		}
		close(half)
		if got := whole(pending); got != "begun ended" {
			t.Errorf("the answer under way: got %q, want %q", got, "begun ended")
		}
		if got := whole(ask("/")); got != "one" {
			t.Errorf("the same connection afterwards: got %q, want %q", got, "one")
		}
		if out := a.must("session", "list", "store", "web"); !strings.Contains(out, "127.0.0.1") {
			t.Errorf("sessions:\n%s", out)
		}
		if out := a.must("stats", "store", "--json"); !strings.Contains(out, `"requests": 2`) && !strings.Contains(out, `"requests":2`) {
			t.Errorf("counters:\n%s", out)
		}
		if out, code := a.run("farm", "get", "shop"); code != 1 {
			t.Errorf("the old name: %s", out)
		}
		a.must("farm", "get", "store")
		within(t, 10*time.Second, "the log has all three under the new name", func() error {
			b, err := os.ReadFile(filepath.Join(data, "log", "store.log"))
			if n := strings.Count(string(b), "\n"); err == nil && n != 3 {
				err = fmt.Errorf("%d lines", n)
			}
			return err
		})
	})
}
