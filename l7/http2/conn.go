package http2

import "github.com/sluicelb/sluice/core/list"

// Handler receives the events of a connection. Its methods are called within Receive and
// Resume, on the caller's goroutine. They may call any method of the connection and its
// streams except Receive. Slices are valid until the method returns.
type Handler interface {
	// Head delivers the head of a request or response (including 1xx) as an HTTP/1.1 head
	// for l7/http1. end means that neither body nor trailers follow.
	Head(s *Stream, head []byte, end bool)
	// Data delivers bytes of the body; end marks the last ones, and p may be empty then.
	// Consumed allows the peer to send as many bytes again.
	Data(s *Stream, p []byte, end bool)
	// Trailers delivers the trailers as HTTP/1.1 lines without the empty line. They end the
	// body.
	Trailers(s *Stream, lines []byte)
	// Reset reports that the stream ended early. why is nil if the peer reset it. Otherwise
	// the stream or connection violated the protocol or was closed.
	Reset(s *Stream, code Code, why *Error)
	// Writable reports that Room or Data, which were short before, now have more room.
	Writable(s *Stream)
	// GoingAway reports that the peer accepts no new streams. Streams that it did not
	// process were reset before.
	GoingAway(code Code)
	// Outgoing reports that Output is no longer empty. The owner writes it once, at the end
	// of the turn, and must not call the connection from here.
	Outgoing()
}

// Conn is one connection without its socket. Received bytes go to Receive; bytes to send
// come from Output. It belongs to one goroutine.
type Conn struct {
	sh      *Shared
	handler Handler
	client  bool // this side is the client
	scheme  byte // of outgoing requests: index in the static table

	err         *Error // why the connection ended; nil while it is open
	greeting    uint8  // bytes of the preface received
	hasSettings bool   // the peer's first SETTINGS have arrived
	leaving     leaving
	gone        bool   // the peer sent GOAWAY
	goneLast    uint32 // its last stream

	in      []byte // partial frame; pooled
	out     []byte // pending output; pooled
	control int    // bytes of control frames in out
	again   bool   // streams may have got room
	more    bool   // more bytes follow the current frame
	frames  uint64 // frames received
	turn    *Stream
	share   int // bytes that the stream turn may still send

	block  block
	data   incoming
	run    run
	dec    decoder
	enc    encoder
	resets bucket
	noise  bucket

	table     []*Stream
	small     [smallTable]*Stream
	streams   int
	waiting   list.List[Stream] // streams waiting for room
	peerLast  uint32            // highest stream opened by the peer
	nextID    uint32            // number of the next stream opened here
	closed    [32]uint32
	closedAt  uint8
	rests     [4]rest
	exhausted bool // one of them has used up its window
	restAt    uint8

	peerWindow  int32 // initial send window of streams
	peerStreams uint32
	tunnels     bool // the peer allows extended CONNECT
	sendWindow  int32
	recvWindow  int32
	window      int32
	owed        int32
	moved       int32
}

// NewServer returns a connection for an HTTP/2 client. Its first output, the SETTINGS, is
// ready at once without a call of Outgoing.
func NewServer(sh *Shared, h Handler) *Conn {
	c := newConn(sh, h)
	c.hello(
		settingStreams, uint32(sh.limits.Streams),
		settingWindow, uint32(sh.limits.Window),
		settingHeaderList, uint32(sh.limits.HeaderList),
		settingConnectProtocol, 1,
		settingNoPriorities, 1,
	)
	return c
}

// NewClient returns a connection to a backend; secure selects the scheme https. Streams may
// be opened at once.
func NewClient(sh *Shared, h Handler, secure bool) *Conn {
	c := newConn(sh, h)
	c.client, c.nextID, c.greeting, c.scheme = true, 1, uint8(len(preface)), staticHTTP
	if secure {
		c.scheme++
	}
	c.peerStreams = assumedStreams
	c.out = append(c.sh.buffers.Grow(c.out, 256), preface...)
	c.hello(
		settingPush, 0,
		settingWindow, uint32(sh.limits.Window),
		settingHeaderList, uint32(sh.limits.HeaderList),
	)
	return c
}

// assumedStreams is the limit assumed until the backend's SETTINGS arrive: the minimum that
// RFC 9113 section 6.5.2 recommends.
const assumedStreams = 100

func newConn(sh *Shared, h Handler) *Conn {
	now := sh.now()
	c := &Conn{
		sh: sh, handler: h,
		resets: newBucket(sh.limits.Resets, costReset, now), noise: newBucket(sh.limits.Noise, 1, now),
		peerWindow: initialWindow, sendWindow: initialWindow, recvWindow: initialWindow, window: initialWindow,
	}
	c.table = c.small[:]
	c.dec.table.max, c.enc.table.max = maxTable, maxTable
	return c
}

// hello writes the first SETTINGS (pairs of setting and value) and opens the connection
// window.
func (c *Conn) hello(settings ...uint32) {
	c.out = c.sh.buffers.Grow(c.out, 256)
	c.out = appendHeader(c.out, len(settings)*3, frameSettings, 0, 0)
	for i := 0; i < len(settings); i += 2 {
		c.out = append(c.out, byte(settings[i]>>8), byte(settings[i]))
		c.out = appendUint32(c.out, settings[i+1])
	}
	if more := c.sh.limits.ConnWindow - initialWindow; more > 0 {
		c.window, c.recvWindow = int32(c.sh.limits.ConnWindow), int32(c.sh.limits.ConnWindow)
		c.out = appendUint32(appendHeader(c.out, 4, frameWindowUpdate, 0, 0), uint32(more))
	}
}

// Streams returns the number of open streams.
func (c *Conn) Streams() int { return c.streams }

// Unfinished reports whether the peer has begun something that it must complete: the
// preface, its first SETTINGS, a frame or a header block. The owner bounds that state with a
// timeout.
func (c *Conn) Unfinished() bool {
	return !c.hasSettings || len(c.in) > 0 || c.data.left > 0 || c.block.stream != 0
}

// More reports, within an event of Receive, whether further bytes follow. They may concern
// the same stream.
func (c *Conn) More() bool { return c.more }

// Frames returns the number of frames received.
func (c *Conn) Frames() uint64 { return c.frames }

// Err returns the error that ended the connection, or nil.
func (c *Conn) Err() *Error { return c.err }

// Output returns the bytes to write, valid until the next call on the connection. The owner
// writes all of them and calls Written.
func (c *Conn) Output() []byte { return c.out }

// Written confirms that the bytes of Output were passed on. Streams waiting for room
// continue with Resume.
func (c *Conn) Written() {
	if c.out != nil {
		c.sh.buffers.Put(c.out)
		c.out = nil
	}
	c.control = 0
}

// Resume lets streams send that wait for room. The owner calls it after Written, as soon as
// the socket accepts more. It may produce new output.
func (c *Conn) Resume() { c.pump() }

// grow makes room for n bytes of output.
func (c *Conn) grow(n int) {
	if len(c.out) == 0 {
		c.handler.Outgoing()
	}
	c.out = c.sh.buffers.Grow(c.out, n)
}

// Close releases the connection after its socket was closed: streams are reset and memory is
// returned. It may be called twice.
func (c *Conn) Close() {
	if c.err == nil {
		c.err = errClosed
	}
	c.resetAll(CodeCancel, errClosed)
	c.release()
	if c.out != nil {
		c.sh.buffers.Put(c.out)
		c.out = nil
	}
}

// errClosed is counted, but neither side is at fault.
var errClosed = declare(CodeCancel, "connection closed")

// release returns the buffers that only Receive needs.
func (c *Conn) release() {
	for _, b := range [...]*[]byte{&c.in, &c.block.bytes} {
		if *b != nil {
			c.sh.buffers.Put(*b)
			*b = nil
		}
	}
}

// resetAll ends all streams. The peer notices by GOAWAY or the end of the socket.
func (c *Conn) resetAll(code Code, why *Error) {
	for i := 0; c.streams > 0; i++ {
		for s := c.table[i%len(c.table)]; s != nil; s = c.table[i%len(c.table)] {
			c.remove(s)
			c.handler.Reset(s, code, why)
		}
	}
}

// fail ends the connection because of an error of the peer. GOAWAY is the last frame.
func (c *Conn) fail(why *Error) {
	if c.err != nil {
		return
	}
	c.err, c.run = why, run{}
	c.sh.counts[why.index]++
	c.goAway(c.peerLast, why.Code)
	c.resetAll(why.Code, why)
	c.release()
}
