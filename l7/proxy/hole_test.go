package proxy_test

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/sluicelb/sluice/l7/l7test"
)

// An upload whose backend ends is repeated with all of its bytes, even if more of it arrived
// before the loop knew of the end.
func TestRepeatedUploadsOfHTTP2AreWhole(t *testing.T) {
	t.Parallel()
	const half, filler = 10_000, 60_000 // in one turn, but not in one read of the loop
	upload := append(bytes.Repeat([]byte("a"), half), bytes.Repeat([]byte("b"), half)...)
	came, ends, ended := make(chan bool, 1), make(chan bool), make(chan bool)
	bad := l7test.NewBackend(t, func(c *l7test.Recorder) {
		if _, err := c.Head(); err != nil {
			return
		}
		came <- true
		<-ends
		_ = c.SetLinger(0)
		_ = c.Close()
		close(ended)
	})
	got := make(chan []byte, 1)
	good := l7test.NewBackend(t, func(c *l7test.Recorder) {
		head, err := c.Head()
		if err != nil {
			return
		}
		size := filler
		if strings.HasPrefix(head, "PUT /upload ") {
			size = 2 * half
		}
		body := make([]byte, size)
		n, _ := io.ReadFull(c, body)
		if size == 2*half {
			got <- body[:n]
		}
		c.Say(ok)
	})
	a := l7test.New(t, 1)
	c := l7test.DialFrames(t, a.Serve(nil, retrying(on("reset"), bad.Addr, good.Addr)))
	c.Ask(1, false, "PUT", "/upload", "content-length", fmt.Sprint(2*half))
	<-came
	c.Ask(3, false, "PUT", "/filler", "content-length", fmt.Sprint(filler))
	l7test.Eventually(t, "both are sent", func() bool { return a.Segment.SumBackend(2).Established == 1 })
	sent := make(chan bool)
	a.Loops[0].Post(func() { // the loop has all of it before the end of the backend
		_ = c.WriteData(1, false, upload[:half])
		for left := filler; left > 0; left -= 10_000 {
			_ = c.WriteData(3, left == 10_000, make([]byte, 10_000))
		}
		_ = c.WriteData(1, true, upload[half:])
		close(ends)
		<-ended
		close(sent)
	})
	<-sent
	if body := <-got; !bytes.Equal(body, upload) {
		t.Errorf("%d of %d bytes, %d of the second half", len(body), 2*half, bytes.Count(body, []byte("b")))
	}
}
