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

// Client is one client connection that speaks bytes.
type Client struct {
	*net.TCPConn
	t     testing.TB
	r     *bufio.Reader
	until atomic.Bool // the test has set a deadline of its own
}

// patience is how long a client waits for an answer.
const patience = 30 * time.Second

// Dial opens a client connection that gives up some time (patience) after it
// was opened, or has sent something.
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

// SetDeadline replaces the patience of the client.
func (c *Client) SetDeadline(t time.Time) error {
	c.until.Store(true)
	return c.TCPConn.SetDeadline(t)
}

// SetReadDeadline replaces the patience of the client.
func (c *Client) SetReadDeadline(t time.Time) error {
	c.until.Store(true)
	return c.TCPConn.SetReadDeadline(t)
}

// Reader is the one buffered reader of the connection.
func (c *Client) Reader() *bufio.Reader {
	if c.r == nil {
		c.r = bufio.NewReader(c.TCPConn)
	}
	return c.r
}

// Send writes text. What is answered has the client's patience from then on.
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

// Response is one response, read whole.
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

// DialOnly dials addr whatever is asked for.
func DialOnly(addr string) func(ctx context.Context, network, asked string) (net.Conn, error) {
	return func(ctx context.Context, network, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, network, addr)
	}
}
