package http2

// Handler hears what a peer does. Its methods are called within Receive and
// Resume, on the goroutine that calls those; they may call anything on the
// connection and its streams but Receive. Slices are valid until they return.
type Handler interface {
	// Head brings the head of a request, or of a response, 1xx ones included,
	// as the bytes of an HTTP/1.1 head: what l7/http1 parses. end tells that
	// no body and no trailers follow.
	Head(s *Stream, head []byte, end bool)
	// Data brings bytes of the body; with end, which may come without bytes,
	// the last ones. The peer may send as many again once Consumed says so.
	Data(s *Stream, p []byte, end bool)
	// Trailers brings the trailers as lines of HTTP/1.1, without an empty line
	// behind them; they end the body.
	Trailers(s *Stream, lines []byte)
	// Reset says that the stream is over: the peer reset it, why is nil then;
	// or it or the whole connection broke the rules, or was closed.
	Reset(s *Stream, code Code, why *Error)
	// Writable says that Room or Data, which had given too little, will now
	// give more.
	Writable(s *Stream)
	// GoingAway says that the peer takes no new streams. Those it has not
	// looked at were reset before.
	GoingAway(code Code)
	// Outgoing says that Output has become other than empty. The owner writes
	// it at the end of the turn, once for all that happened in it; it must not
	// call the connection from here.
	Outgoing()
}

// Conn is one connection, without its socket: bytes that were read are given to
// Receive, bytes to be written are taken from Output. It belongs to one
// goroutine.
type Conn struct {
	sh      *Shared
	handler Handler
	client  bool // we are the client
	scheme  byte // of requests we send: index in the static table

	err         *Error // why it is over; nil while it is not
	greeting    uint8  // bytes of the preface that have come
	hasSettings bool   // the peer's first SETTINGS have come
	leaving     leaving
	gone        bool   // the peer sent GOAWAY
	goneLast    uint32 // its last stream

	in      []byte // the beginning of a frame; pooled
	out     []byte // what is to be written; pooled
	control int    // bytes of control frames in out
	again   bool   // streams may have got room
	more    bool   // Receive has bytes behind the frame at hand
	frames  uint64 // that have come
	turn    *Stream
	share   int // bytes turn may still send

	block  block
	data   incoming
	run    run
	dec    decoder
	enc    encoder
	resets bucket
	noise  bucket

	table       []*Stream
	small       [smallTable]*Stream
	streams     int
	first, last *Stream // queue of streams that wait for room
	waiting     int     // their number
	peerLast    uint32  // highest stream the peer opened
	nextID      uint32  // of the stream we open next
	closed      [32]uint32
	closedAt    uint8
	rests       [4]rest
	restAt      uint8

	peerWindow  int32 // what streams may send at first
	peerStreams uint32
	tunnels     bool // the peer takes extended CONNECT
	sendWindow  int32
	recvWindow  int32
	window      int32
	owed        int32
	moved       int32
}

// NewServer returns the connection of a client that speaks HTTP/2. Its first
// output, our settings, is there at once; Outgoing is not called for it.
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

// NewClient returns a connection to a backend; secure says that its requests
// are https ones. Streams may be opened at once.
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

// assumedStreams is how many streams a backend is believed to allow before it
// has said so: the least it should (RFC 9113 section 6.5.2).
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

// hello writes the first SETTINGS, pairs of setting and value, and opens the
// window of the connection.
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

// Streams is how many streams are open.
func (c *Conn) Streams() int { return c.streams }

// Unfinished reports whether the peer is in the midst of something that it has
// to go on with: the preface, its first SETTINGS, a frame or a header block. A
// peer that stays there is what a time-out is for.
func (c *Conn) Unfinished() bool {
	return !c.hasSettings || len(c.in) > 0 || c.data.left > 0 || c.block.stream != 0
}

// More reports, within an event of Receive, whether there are bytes behind those
// of the event: they may say more about its stream.
func (c *Conn) More() bool { return c.more }

// Frames is how many frames have come.
func (c *Conn) Frames() uint64 { return c.frames }

// Err is why the connection is over, nil while it is not.
func (c *Conn) Err() *Error { return c.err }

// Output is what is to be written now, valid until the next call on the
// connection; empty when nothing is. The owner writes all of it and calls
// Written.
func (c *Conn) Output() []byte { return c.out }

// Written says that what Output gave was handed on. Streams that wait for room
// hear of it with Resume.
func (c *Conn) Written() {
	if c.out != nil {
		c.sh.buffers.Put(c.out)
		c.out = nil
	}
	c.control = 0
}

// Resume lets streams that wait for room go on. The owner calls it after
// Written as soon as the socket takes more; there may be output again then.
func (c *Conn) Resume() { c.pump() }

// grow makes room for n bytes of output.
func (c *Conn) grow(n int) {
	if len(c.out) == 0 {
		c.handler.Outgoing()
	}
	c.out = c.sh.buffers.Grow(c.out, n)
}

// Close ends the connection after its socket closed: streams are reset and
// memory is given back. Closing twice is fine.
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

// errClosed is counted, but nobody's fault.
var errClosed = declare(CodeCancel, "connection closed")

// release gives back what only Receive needs.
func (c *Conn) release() {
	for _, b := range [...]*[]byte{&c.in, &c.block.bytes} {
		if *b != nil {
			c.sh.buffers.Put(*b)
			*b = nil
		}
	}
}

// resetAll ends all streams; the peer is told by GOAWAY or by the socket.
func (c *Conn) resetAll(code Code, why *Error) {
	for i := 0; c.streams > 0; i++ {
		for s := c.table[i%len(c.table)]; s != nil; s = c.table[i%len(c.table)] {
			c.remove(s)
			c.handler.Reset(s, code, why)
		}
	}
}

// fail ends the connection because of what the peer did: GOAWAY is the
// last frame written.
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
