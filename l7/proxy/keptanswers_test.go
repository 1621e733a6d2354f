package proxy_test

import (
	"io"
	"strings"
	"testing"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/l7/l7test"
)

// An invalid response is refused as usual, not kept.
func TestAFailureThatBreaksTheRulesIsNotKept(t *testing.T) {
	t.Parallel()
	bad := l7test.Answer("HTTP/1.1 503 No\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n")
	one, other := l7test.NewBackend(t, bad), l7test.NewBackend(t, bad)
	a := l7test.New(t, 1)
	c := l7test.Dial(t, a.Serve(nil, retrying(on("503"), one.Addr, other.Addr))).Send(get("/"))
	if res := c.Get(); res.StatusCode != 502 || one.Accepted()+other.Accepted() != 1 {
		t.Errorf("answered %s after %d tries", res.Status, one.Accepted()+other.Accepted())
	}
	l7test.Eventually(t, "a line", func() bool { return a.Log.Has(`reason="malformed chunk size"`) })
}

// A failure is forwarded immediately if no other backend is left to try.
func TestFailureWithoutAlternativesIsForwardedAtOnce(t *testing.T) {
	t.Parallel()
	more := make(chan bool)
	b := l7test.NewBackend(t, func(c *l7test.Recorder) {
		_, _ = c.Head()
		c.Say("HTTP/1.1 503 No\r\nContent-Length: 10\r\n\r\nfirst")
		<-more
		c.Say(" then")
		_, _ = c.Head()
	})
	c := l7test.Dial(t, l7test.New(t, 1).Serve(nil, retrying(on("503"), b.Addr))).Send(get("/"))
	var got []byte
	for !strings.HasSuffix(string(got), "first") {
		one, err := c.Reader().ReadByte()
		if err != nil {
			t.Fatalf("%q, %v", got, err)
		}
		got = append(got, one)
	}
	close(more)
	rest := make([]byte, len(" then"))
	if _, err := io.ReadFull(c.Reader(), rest); err != nil || string(rest) != " then" {
		t.Errorf("then %q, %v", rest, err)
	}
}

// A failed handshake for an unknown name determines the response, even if other backends were
// unreachable.
func TestANameThatFailedIsTheAnswerWhereOthersAreGone(t *testing.T) {
	t.Parallel()
	known := l7test.Certificate(t, "backend.pem", "a.test")
	gone := l7test.NewBackend(t, l7test.Answer(ok))
	gone.Close()
	for _, first := range []bool{true, false} {
		strict, _ := strictBackend(t, false, l7test.Certificate(t, "other.pem", "b.test"), nil)
		addrs := []string{strict, gone.Addr}
		if !first {
			addrs = []string{gone.Addr, strict}
		}
		a := l7test.New(t, 1)
		a.Authorities = []farm.Authority{{Name: "own", Certificates: known.Chain}}
		addr := a.Serve(patient, overTLS(false, farm.BackendTLS{Verify: farm.VerifyCA, CA: "own"}, addrs...))
		for range 2 {
			if res := l7test.Dial(t, addr).Send(hostIs("a.test")).Get(); res.StatusCode != 502 {
				t.Errorf("first %t: answered %s", first, res.Status)
			}
		}
		if n := a.Segment.SumFarm(1).NoBackend; n != 0 {
			t.Errorf("first %t: %d had no backend", first, n)
		}
	}
}
