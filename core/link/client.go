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

// Client is mgmt's end of the channel to one engine. Its methods may be called
// from any goroutine. It never reconnects: after Done, dial again.
type Client struct {
	wire    *wire
	hello   Hello
	turn    chan struct{} // holds one token: the right to publish
	asking  chan struct{} // holds one token while a question is not answered
	writing chan struct{} // holds one token: the right to send a message
	acks    chan Ack      // from the reader to the publisher whose turn it is

	mu      sync.Mutex
	waiting bool   // a publication was sent and not answered
	asked   *asked // a question that was sent and not answered
	cause   error  // why the connection ended
	done    chan struct{}
}

// Dial connects to the engine that serves path, and waits for its Hello until
// ctx ends, but for no longer than a few seconds.
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
	c.hello = *hello
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

// Hello returns what the engine told when the connection was made; it is not
// brought up to date by publications.
func (c *Client) Hello() Hello { return c.hello }

// Done is closed as soon as the engine died, either side closed the
// connection, or the engine broke the protocol.
func (c *Client) Done() <-chan struct{} { return c.done }

// Close ends the connection; a Publish under way fails with ErrGone. A second
// Close does nothing.
func (c *Client) Close() error {
	c.end(net.ErrClosed)
	return nil
}

// Publish hands the engine a snapshot and newly opened listeners by key, and
// waits for its answer. All files stay the caller's. Publications of several
// goroutines go one after the other.
//
// An Ack is the engine's answer, a rejection included. With an error it is not
// known whether the generation runs: the connection is closed (also when ctx
// ends while waiting), and Hello of the next one tells. Only errors about the
// arguments, among them ErrTooLarge, leave the connection as it was, and so
// does a ctx that ends before anything was sent.
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
	// Ends a write that waits for room, as well as the wait for the answer.
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
	select { // the engine may have answered and gone
	case ack := <-c.acks:
		return ack, nil
	default:
		return Ack{}, fmt.Errorf("publish: %w", c.gone())
	}
}

// take waits for the one token of what, until ctx or the connection ends.
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

// listen reads until the connection ends, so that its end is noticed at once.
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
			c.acks <- *m.Ack // has room: one publication, one answer
		case len(files) == 0 && m.Answer != nil && c.answered(m.Answer):
		default:
			c.end(fmt.Errorf("%w: only what was asked for is expected", ErrProtocol))
			return
		}
	}
}

// expect sets whether an acknowledgement is awaited, and returns whether one was.
func (c *Client) expect(answer bool) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	was := c.waiting
	c.waiting = answer
	return was
}

// end closes the connection; the first cause is kept.
func (c *Client) end(cause error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.cause != nil {
		return
	}
	c.cause = cause
	c.wire.conn.Close() // wakes whoever reads or writes
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

// Explain asks what would become of a request, under the terms of Sessions. An
// error that wraps ErrRefused says what is wrong with the question, or that the
// engine does not serve the farm.
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
