package load

import (
	"bytes"
	"crypto/tls"
	"fmt"
	"syscall"
	"time"

	"github.com/sluicelb/sluice/bench/measure"
	"github.com/sluicelb/sluice/bench/poll"
	"github.com/sluicelb/sluice/bench/witness"
)

// Client drives the connections of one Spec. Its methods belong to one
// goroutine.
type Client struct {
	spec    Spec
	poll    *poll.Poller
	buf     []byte // shared by all connections; valid within one read
	framer  framer
	conns   []conn
	slots   []slot
	idle    []int32 // connections without an exchange, used with Spec.Rate
	latency measure.Histogram
	result  Result
	flying  int   // exchanges in flight
	until   int64 // no exchange starts after this time
	warm    warmup
	last    int64 // completion of the last response
	origin  int64 // offset of poll.Now on the monotonic clock
}

// warmup starts one exchange per connection, with bounded concurrency.
type warmup struct {
	active bool
	next   int // index of the next connection
	failed error
}

// conn is the state of a connection slot; its socket may change.
type conn struct {
	fd         int
	generation int32
	phase      phase
	due        int64    // start or due time of the exchange
	left       []byte   // unsent rest of the request
	part       []byte   // incomplete response head
	need       int      // bytes of response body still to come
	tls        *session // nil on plain connections
}

// slot is the state of a slot that outlives its connections.
type slot struct {
	request []byte
	config  *tls.Config // with Spec.TLS
}

type phase uint8

const (
	closed     phase = iota
	connecting       // waits for the socket to become writable
	shaking          // TLS handshake
	quiet            // no exchange
	head             // waits for a response head
	body             // waits for the rest of a body
	ending           // Spec.New: waits for the proxy to close
)

const (
	// readSize exceeds any small response; longer ones are discarded.
	readSize = 16 << 10
	// discardSize bounds one discarding read.
	discardSize = 1 << 20
	// maxErrors ends a hopeless slice.
	maxErrors = 2000

	tokenTimer   = -1
	tokenControl = -2 // standard input
)

// NewClient prepares a client; nothing is sent before WarmUp.
func NewClient(spec Spec) (*Client, error) {
	if err := spec.Check(); err != nil {
		return nil, err
	}
	p, err := poll.Open(512)
	if err != nil {
		return nil, err
	}
	c := &Client{
		spec: spec, poll: p, framer: newFramer(spec.Require),
		buf: make([]byte, discardSize), conns: make([]conn, spec.Connections), slots: make([]slot, spec.Connections),
		origin: poll.Monotonic() - poll.Now(),
	}
	shared := spec.request("")
	for i := range c.slots {
		c.slots[i].request = shared
		if spec.Cookie != "" {
			c.slots[i].request = spec.request(fmt.Sprintf("%s=client%05d", spec.Cookie, i))
		}
		if spec.TLS != nil {
			c.slots[i].config = spec.TLS.config(spec.Host)
		}
	}
	return c, nil
}

// request returns a request; cookie is "name=value" or empty.
func (s *Spec) request(cookie string) []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, "%s %s HTTP/1.1\r\nHost: %s\r\nUser-Agent: bench\r\n", s.Method, s.Path, s.Host)
	if cookie != "" {
		fmt.Fprintf(&b, "Cookie: %s\r\n", cookie)
	}
	if s.New {
		b.WriteString("Connection: close\r\n")
	}
	if s.Body > 0 {
		fmt.Fprintf(&b, "Content-Length: %d\r\n", s.Body)
	}
	b.WriteString("\r\n")
	b.Write(bytes.Repeat([]byte("x"), s.Body))
	return b.Bytes()
}

// Close closes every connection.
func (c *Client) Close() {
	for i := range c.conns {
		c.drop(int32(i))
	}
	_ = c.poll.Close()
}

// WarmUp opens all connections and runs one exchange on each. With Spec.New it runs as
// many exchanges, each on its own connection, and leaves none open.
func (c *Client) WarmUp() error {
	c.warm.active = true
	parallel := c.spec.Parallel
	if parallel <= 0 {
		parallel = c.spec.Connections
	}
	for range min(parallel, c.spec.Connections) {
		c.warmNext()
	}
	deadline := poll.Now() + int64(c.spec.Patience)
	for c.flying > 0 && c.warm.failed == nil {
		if err := c.turn(deadline); err != nil {
			return err
		}
		if poll.Now() >= deadline {
			return fmt.Errorf("warm-up: %d of %d exchanges done, %w", c.warm.next-c.flying, c.spec.Connections, errLate)
		}
	}
	c.warm.active = false
	return c.warm.failed
}

func (c *Client) warmNext() {
	if c.warm.next == c.spec.Connections || c.warm.failed != nil {
		return
	}
	i := int32(c.warm.next)
	c.warm.next++
	c.open(i)
}

// Run runs exchanges for Spec.Duration, waits for the last responses and returns the
// result. The connections stay open.
func (c *Client) Run() (Result, error) {
	c.latency, c.result = measure.Histogram{}, Result{Causes: map[string]uint64{}}
	// Allocated beforehand, because growing it would delay requests.
	c.result.Samples = make([]witness.Sample, 0, int(float64(c.spec.Rate)*c.spec.Duration.Seconds()*1.1))
	start := poll.Now()
	c.until = start + int64(c.spec.Duration)
	c.last = start
	pace, err := c.begin(start)
	if err != nil {
		return Result{}, err
	}
	if pace != nil {
		defer pace.timer.Close()
	}
	deadline := c.until + int64(c.spec.Patience)
	for c.flying > 0 || (pace != nil && poll.Now() < c.until) {
		if err := c.turnPaced(deadline, pace); err != nil {
			return Result{}, err
		}
		if poll.Now() >= deadline || c.result.Errors > maxErrors {
			c.abandon()
		}
	}
	c.result.Elapsed = time.Duration(c.last - start)
	c.result.Latency = c.latency.Sparse()
	return c.result, nil
}

func (c *Client) begin(now int64) (*pace, error) {
	if c.spec.Rate > 0 {
		return c.newPace(now)
	}
	for i := range c.conns {
		c.next(int32(i), now)
	}
	return nil, nil
}

// abandon fails every exchange in flight.
func (c *Client) abandon() {
	c.until = 0
	for i := range c.conns {
		if p := c.conns[i].phase; p != quiet && p != closed {
			c.fail(int32(i), errLate)
		}
	}
}

// next starts an exchange on a slot, on a new connection if it has none.
func (c *Client) next(i int32, now int64) {
	if c.conns[i].phase == closed {
		c.open(i)
		return
	}
	c.flying++
	c.send(i, now)
}

// open starts a connection and, once established, an exchange.
func (c *Client) open(i int32) {
	cn := &c.conns[i]
	fd, err := poll.Dial(c.spec.Target)
	c.flying++
	if err != nil {
		c.fail(i, errConnect)
		return
	}
	*cn = conn{fd: fd, generation: cn.generation + 1, phase: connecting, due: poll.Now()}
	c.result.Connected++
	if err := c.poll.Add(fd, i, cn.generation); err != nil {
		c.fail(i, errConnect)
	}
}

func (c *Client) send(i int32, due int64) {
	cn := &c.conns[i]
	cn.due, cn.phase = due, head
	if cn.tls == nil {
		cn.left = c.slots[i].request
		c.push(i, cn)
		return
	}
	if _, err := cn.tls.tls.Write(c.slots[i].request); err != nil {
		c.fail(i, fmt.Errorf("%w while sending: %w", errTLS, err))
	}
}

// push sends the rest of a request and its ciphertext.
func (c *Client) push(i int32, cn *conn) {
	if cn.tls != nil && len(cn.tls.unsent) > 0 {
		if err := cn.tls.flush(); err != nil {
			c.fail(i, fmt.Errorf("%w while sending: %w", errReset, err))
		}
		return
	}
	if len(cn.left) == 0 {
		return
	}
	n, errno := poll.Send(cn.fd, cn.left)
	if errno == syscall.EAGAIN {
		return
	}
	if errno != 0 {
		c.fail(i, fmt.Errorf("%w while sending: %w", errReset, errno))
		return
	}
	cn.left = cn.left[n:]
}

// drop closes the socket of a slot in any state.
func (c *Client) drop(i int32) {
	cn := &c.conns[i]
	if cn.phase == closed {
		return
	}
	if cn.tls != nil {
		cn.tls.stop()
	}
	poll.Close(cn.fd)
	*cn = conn{generation: cn.generation}
}

// fail counts an error, ends the exchange and opens a new connection.
func (c *Client) fail(i int32, cause error) {
	c.drop(i)
	c.flying--
	if c.warm.active {
		c.warm.failed = fmt.Errorf("warm-up, connection %d: %w", i+1, cause)
		return
	}
	c.result.Errors++
	c.result.Causes[cause.Error()]++
	if c.spec.Rate == 0 && c.result.Errors <= maxErrors && poll.Now() < c.until {
		c.open(i)
	}
}
