package proxy_test

import (
	"bufio"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/l7/l7test"
)

// A client whose request body is open and which takes a response is active, e.g. in a stream of
// gRPC. The response takes longer than the request timeout.
func TestAFlowingResponseKeepsAnOpenRequestAlive(t *testing.T) {
	const parts = 30 // 6 s
	patient := func(h *farm.HTTP) { h.RequestTimeout = 4 }
	t.Run("HTTP/1", func(t *testing.T) {
		t.Parallel()
		b := l7test.NewBackend(t, func(r *l7test.Recorder) {
			_, _ = r.Head()
			r.Say("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
			for range parts {
				time.Sleep(200 * time.Millisecond)
				r.Say("5\r\npart\n\r\n")
			}
			r.Say("0\r\n\r\n")
		})
		a := l7test.New(t, 1)
		c := l7test.Dial(t, a.Serve(patient, l7test.Service("web", b.Addr))).Send(req("POST / HTTP/1.1", "Content-Length: 10\r\n") + "half")
		if got := c.Rest(); strings.Count(got, "part\n") != parts || !strings.HasSuffix(got, "0\r\n\r\n") {
			t.Errorf("the client got %q", got)
		}
	})
	t.Run("HTTP/2", func(t *testing.T) {
		t.Parallel()
		heard := make(chan string, 1)
		b := l7test.HTTP2Server(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			for range parts {
				time.Sleep(200 * time.Millisecond)
				_, _ = io.WriteString(w, "part\n")
				w.(http.Flusher).Flush()
			}
			rest, _ := io.ReadAll(r.Body) // the client sends it after the last part
			heard <- string(rest)
		}), false)
		a := l7test.New(t, 1)
		addr := a.Serve(patient, l7test.HTTP2Service(false, b.Listener.Addr().String()))
		body, sends := io.Pipe()
		defer sends.Close()
		resp, err := l7test.HTTP2Client(t, addr, false).Post("http://"+strings.TrimSpace(strings.TrimPrefix(hostLine, "Host: "))+"/", "application/grpc", body)
		if err != nil {
			t.Fatal(err)
		}
		lines := bufio.NewScanner(resp.Body)
		for got := 0; got < parts; got++ {
			if !lines.Scan() {
				t.Fatalf("the response ends after %d parts: %v", got, lines.Err())
			}
		}
		_, _ = io.WriteString(sends, "thanks")
		_ = sends.Close()
		if lines.Scan() || lines.Err() != nil {
			t.Errorf("the end of the response: %v", lines.Err())
		}
		if got := <-heard; got != "thanks" {
			t.Errorf("the backend received %q", got)
		}
	})
}
