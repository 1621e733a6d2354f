package http2_test

import (
	"fmt"
	"strings"
	"time"

	"github.com/sluicelb/sluice/core/loop"
	"github.com/sluicelb/sluice/l7/http2"
)

// hello is an owner that responds to every request with a greeting.
type hello struct{}

func (hello) Head(s *http2.Stream, head []byte, end bool) {
	fmt.Print(strings.ReplaceAll(string(head), "\r", ""))
	s.Respond([]byte("HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\n"), false)
	s.Data([]byte("hello\n"), true) // bytes not accepted would be offered again in Writable
	if !end {
		s.Reset(http2.CodeNo) // the body is not needed
	}
}

func (hello) Data(s *http2.Stream, p []byte, end bool)               { s.Consumed(len(p)) }
func (hello) Trailers(s *http2.Stream, lines []byte)                 {}
func (hello) Reset(s *http2.Stream, code http2.Code, _ *http2.Error) {}
func (hello) Writable(s *http2.Stream)                               {}
func (hello) GoingAway(code http2.Code)                              {}
func (hello) Outgoing()                                              {}

// A connection receives input bytes; its output is written once.
func Example() {
	start := time.Now()
	sh := http2.NewShared(http2.ServerLimits(), new(loop.BufferPool), func() int64 { return int64(time.Since(start)) })
	c := http2.NewServer(sh, hello{})

	read := newScript().greet().headers(1, true, newScript().fields(
		":method", "GET", ":scheme", "https", ":authority", "example.com", ":path", "/", "cookie", "a=b", "cookie", "c=d")).take()
	if err := c.Receive(read); err != nil {
		fmt.Println(err) // c.Output ends with GOAWAY
	}
	out := c.Output() // all of it goes to the socket
	c.Written()
	c.Resume() // the socket accepted it: waiting streams may continue
	fmt.Println(len(out) > 0, c.Streams())
	// Output:
	// GET / HTTP/1.1
	// Host: example.com
	// cookie: a=b; c=d
	//
	// true 0
}
