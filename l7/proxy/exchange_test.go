package proxy_test

import (
	"strings"
	"testing"

	"github.com/sluicelb/sluice/l7/l7test"
)

const ok = l7test.OK

func TestRequestReachesTheBackendAndTheAnswerReturns(t *testing.T) {
	t.Parallel()
	b := l7test.NewBackend(t, l7test.Answer(ok))
	addr := l7test.New(t, 1).Serve(nil, l7test.Service("web", b.Addr))
	c := l7test.Dial(t, addr)
	for range 3 {
		res := c.Send("GET /a?b=c HTTP/1.1\r\nHost: Example.test\r\nX-Own: 1\r\n\r\n").Get()
		if res.StatusCode != 200 || res.Text != "ok" {
			t.Fatalf("got %d %q", res.StatusCode, res.Text)
		}
	}
	head := b.Received()
	for _, want := range []string{"GET /a?b=c HTTP/1.1\r\n", "Host: example.test\r\n", "X-Own: 1\r\n", "X-Forwarded-For: 127.0.0.1\r\n"} {
		if !strings.Contains(head, want) {
			t.Errorf("the backend did not get %q:\n%s", want, head)
		}
	}
	if n := b.Accepted(); n != 1 {
		t.Errorf("%d connections to the backend for 3 requests, want 1", n)
	}
}
