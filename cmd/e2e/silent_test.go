package e2e_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// The kernel of a stopped backend accepts connections, and most clients leave before any
// timeout of the farm. Both kinds of farms report the problem until the backend responds.
func TestUnresponsiveBackendIsAFarmProblem(t *testing.T) {
	t.Parallel()
	var answers atomic.Bool
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			t.Cleanup(func() { c.Close() })
			if answers.Load() { // clients accept no response before that
				_, _ = http.ReadRequest(bufio.NewReader(c))
				_, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
			}
		}
	}()
	a := start(t, asOne(), dataDir(t, asOne()))
	urls := map[string]string{"seen": a.farm("seen", l.Addr().String())}
	port := freePort(t)
	a.must("farm", "create", "carried", "--profile", "l4xnat", "vip=127.0.0.1", fmt.Sprintf("vport=%d", port), "datapath=userspace")
	a.must("backend", "add", "carried", l.Addr().String())
	urls["carried"] = fmt.Sprintf("http://127.0.0.1:%d/", port)
	ask := func(farm string) error {
		ctx, cancel := context.WithTimeout(t.Context(), 1200*time.Millisecond)
		defer cancel()
		r, err := http.NewRequestWithContext(ctx, http.MethodGet, urls[farm], nil)
		if err != nil {
			return err
		}
		resp, err := (&http.Transport{DisableKeepAlives: true}).RoundTrip(r)
		if err == nil {
			resp.Body.Close()
		}
		return err
	}
	said := func(farm string) bool {
		for line := range strings.Lines(a.must("status")) {
			if strings.HasPrefix(line, farm) {
				return strings.Contains(line, "problem") && strings.Contains(line, "accepts connections and does not answer")
			}
		}
		return false
	}
	for farm := range urls {
		t.Run(farm, func(t *testing.T) {
			for range 4 {
				if err := ask(farm); !errors.Is(err, context.DeadlineExceeded) {
					t.Fatalf("the backend is not stopped: %v", err)
				}
			}
			within(t, 10*time.Second, "it is said", func() error {
				if !said(farm) {
					return errors.New(a.must("status"))
				}
				return nil
			})
			answers.Store(true)
			defer answers.Store(false)
			if err := ask(farm); err != nil {
				t.Fatal(err)
			}
			within(t, 10*time.Second, "it is said no more", func() error {
				if said(farm) {
					return errors.New(a.must("status"))
				}
				return nil
			})
		})
	}
}
