package l7test

import (
	"bufio"
	"context"
	"io"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// Client is a raw client connection.
type Client struct {
	*net.TCPConn
	t     testing.TB
	r     *bufio.Reader
	until atomic.Bool // the test has set its own deadline
}

// patience is the time a client waits for a response.
const patience = 30 * time.Second

// Dial opens a client connection. Its deadline is patience after the connect and after each
// Send.
func Dial(t testing.TB, addr string) *Client {
	t.Helper()
	c, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	_ = c.SetDeadline(time.Now().Add(patience))
	t.Cleanup(func() { _ = c.Close() })
	return &Client{TCPConn: c.(*net.TCPConn), t: t}
}

// SetDeadline overrides patience.
func (c *Client) SetDeadline(t time.Time) error {
	c.until.Store(true)
	return c.TCPConn.SetDeadline(t)
}

// SetReadDeadline overrides patience.
func (c *Client) SetReadDeadline(t time.Time) error {
	c.until.Store(true)
	return c.TCPConn.SetReadDeadline(t)
}

// Reader returns the buffered reader of the connection.
func (c *Client) Reader() *bufio.Reader {
	if c.r == nil {
		c.r = bufio.NewReader(c.TCPConn)
	}
	return c.r
}

// Send writes text and restarts the deadline.
func (c *Client) Send(text string) *Client {
	c.t.Helper()
	if !c.until.Load() {
		_ = c.TCPConn.SetDeadline(time.Now().Add(patience))
	}
	if _, err := io.WriteString(c.TCPConn, text); err != nil {
		c.t.Fatal(err)
	}
	return c
}

// Response is one complete response.
type Response struct {
	*http.Response
	Text string
}

// Get reads the response to a GET.
func (c *Client) Get() Response { c.t.Helper(); return c.Response("GET") }

// Response reads the response to a request with the given method.
func (c *Client) Response(method string) Response {
	c.t.Helper()
	res, err := http.ReadResponse(c.Reader(), &http.Request{Method: method})
	if err != nil {
		c.t.Fatalf("no response: %v", err)
	}
	body, err := io.ReadAll(res.Body)
	if err != nil {
		c.t.Fatalf("response body: %v (after %d bytes)", err, len(body))
	}
	return Response{res, string(body)}
}

// Rest reads until the connection ends.
func (c *Client) Rest() string {
	var b strings.Builder
	_, _ = io.Copy(&b, c.Reader())
	return b.String()
}

// DialOnly returns a dial function that connects to addr for every name.
func DialOnly(addr string) func(ctx context.Context, network, asked string) (net.Conn, error) {
	return func(ctx context.Context, network, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, network, addr)
	}
}
