package link

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"sync"

	"github.com/sluicelb/sluice/core/explain"
)

// Client is mgmt's end of the channel to one engine. It is safe for concurrent use. It
// never reconnects: after Done, the caller must dial again.
type Client struct {
	wire    *wire
	hello   Hello
	held    []string      // listeners of the last Hello or Ack; used by the reader
	turn    chan struct{} // one token: the right to publish
	asking  chan struct{} // one token, held until a question is answered
	writing chan struct{} // one token: the right to send a message
	acks    chan Ack      // from the reader to the current publisher

	mu      sync.Mutex
	waiting bool   // a publication awaits its Ack
	asked   *asked // the question that awaits its answer
	cause   error  // cause of the end of the connection
	done    chan struct{}
}

// Dial connects to the engine at path and waits for its Hello until ctx ends, but at
// most messageTimeout.
func Dial(ctx context.Context, path string) (*Client, error) {
	ctx, cancel := context.WithTimeout(ctx, messageTimeout)
	defer cancel()
	var d net.Dialer
	conn, err := d.DialContext(ctx, "unixpacket", path)
	if err != nil {
		return nil, fmt.Errorf("dial engine: %w", err)
	}
	c := &Client{
		wire: newWire(conn.(*net.UnixConn)), done: make(chan struct{}), acks: make(chan Ack, 1),
		turn: make(chan struct{}, 1), asking: make(chan struct{}, 1), writing: make(chan struct{}, 1),
	}
	hello, err := c.greet(ctx)
	if err != nil {
		conn.Close()
		return nil, fmt.Errorf("dial engine at %s: %w", path, err)
	}
	c.hello, c.held = *hello, hello.Listeners
	go c.listen()
	return c, nil
}

func (c *Client) greet(ctx context.Context) (*Hello, error) {
	stop := context.AfterFunc(ctx, func() { c.wire.conn.Close() })
	m, files, err := c.wire.read()
	if !stop() {
		closeAll(files)
		return nil, fmt.Errorf("no hello: %w", ctx.Err())
	}
	if err != nil {
		return nil, fmt.Errorf("no hello: %w", err)
	}
	closeAll(files)
	if m.Hello == nil || len(files) > 0 {
		return nil, fmt.Errorf("%w: the first message is no plain hello", ErrProtocol)
	}
	return m.Hello, nil
}

// Hello returns the Hello received when the connection was made. Publications do not
// update it.
func (c *Client) Hello() Hello { return c.hello }

// Done returns a channel that is closed when the engine dies, either side closes the
// connection, or the engine violates the protocol.
func (c *Client) Done() <-chan struct{} { return c.done }

// Close ends the connection. A Publish in progress fails with ErrGone. Further calls
// have no effect.
func (c *Client) Close() error {
	c.end(net.ErrClosed)
	return nil
}

// Publish sends a snapshot and newly opened listeners by key, and waits for the Ack.
// All files remain the caller's. Concurrent publications are serialised.
//
// An Ack may be a rejection. After an error the state of the generation is unknown and
// the connection is closed, also if ctx ends during the wait. The Hello of the next
// connection shows the generation. The connection remains usable only after errors
// about the arguments, including ErrTooLarge, and if ctx ends before anything was sent.
func (c *Client) Publish(ctx context.Context, snapshot *os.File, opened map[string][]*os.File) (Ack, error) {
	p, files, err := join(snapshot, opened)
	if err != nil {
		return Ack{}, fmt.Errorf("publish: %w", err)
	}
	if err := c.take(ctx, c.turn); err != nil {
		return Ack{}, fmt.Errorf("publish: %w", err)
	}
	defer func() { <-c.turn }()
	if err := c.take(ctx, c.writing); err != nil {
		return Ack{}, fmt.Errorf("publish: %w", err)
	}
	// Ends a write that waits for buffer space, and the wait for the Ack.
	defer context.AfterFunc(ctx, func() { c.end(ctx.Err()) })()
	c.expect(true)
	err = c.wire.write(&message{Publish: p}, files)
	<-c.writing
	switch {
	case errors.Is(err, ErrTooLarge):
		c.expect(false)
		return Ack{}, fmt.Errorf("publish: %w", err)
	case err != nil:
		c.end(err)
		return Ack{}, fmt.Errorf("publish: %w", c.gone())
	}
	select {
	case ack := <-c.acks:
		return ack, nil
	case <-c.done:
	}
	select { // the engine may have answered before it closed
	case ack := <-c.acks:
		return ack, nil
	default:
		return Ack{}, fmt.Errorf("publish: %w", c.gone())
	}
}

// take acquires the token of what. It fails when ctx or the connection ends.
func (c *Client) take(ctx context.Context, what chan struct{}) error {
	if err := ctx.Err(); err != nil { // select chooses at random
		return err
	}
	select {
	case what <- struct{}{}:
		return nil
	case <-c.done:
		return c.gone()
	case <-ctx.Done():
		return ctx.Err()
	}
}

// listen reads until the connection ends, so that the end is noticed at once.
func (c *Client) listen() {
	for {
		m, files, err := c.wire.read()
		if err != nil {
			c.end(err)
			return
		}
		closeAll(files)
		switch {
		case len(files) == 0 && m.Ack != nil && c.expect(false):
			if m.Same {
				m.Ack.Listeners = c.held
			}
			c.held = m.Ack.Listeners
			c.acks <- *m.Ack // has room: one publication, one Ack
		case len(files) == 0 && m.Answer != nil && c.answered(m.Answer):
		default:
			c.end(fmt.Errorf("%w: only what was asked for is expected", ErrProtocol))
			return
		}
	}
}

// expect sets whether an Ack is expected, and returns the previous value.
func (c *Client) expect(answer bool) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	was := c.waiting
	c.waiting = answer
	return was
}

// end closes the connection and records the first cause.
func (c *Client) end(cause error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.cause != nil {
		return
	}
	c.cause = cause
	c.wire.conn.Close() // wakes readers and writers
	close(c.done)
}

func (c *Client) gone() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if errors.Is(c.cause, ErrGone) {
		return c.cause
	}
	return fmt.Errorf("%w: %w", ErrGone, c.cause)
}

// Explain returns how the engine would handle a request. Cancellation works as for
// Sessions. An error that wraps ErrRefused means that the question is invalid or that
// the engine does not serve the farm.
func (c *Client) Explain(ctx context.Context, q explain.Question) (*explain.Explanation, error) {
	a, err := c.answerTo(ctx, &question{Explain: &q})
	switch {
	case err != nil:
		return nil, fmt.Errorf("explain a request: %w", err)
	case a.Refused != "":
		return nil, fmt.Errorf("%w: %s", ErrRefused, a.Refused)
	case a.Explanation == nil:
		return nil, fmt.Errorf("explain a request: %w", errNoExplanation)
	}
	return a.Explanation, nil
}

var errNoExplanation = errors.New("the engine answered without an explanation")
