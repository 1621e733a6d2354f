package client

import (
	"github.com/sluicelb/sluice/l7/rejected"
	"github.com/sluicelb/sluice/l7/table"
)

// Client is the client side of exchanges: an HTTP/1 connection for consecutive exchanges, or
// an HTTP/2 stream for one.
//
// Response bodies differ. For HTTP/1 they are chunked, with the trailer after the last
// chunk. If Peer.Frames is set they are raw, with the end and the trailer as separate
// arguments.
type Client interface {
	// From returns the connection of its requests.
	From() *Peer
	// Serve sets the receiver of the client's events; nil means none.
	Serve(ex Exchange)

	// ReadBody reads bytes of the request body as framed by HTTP/1, or of a tunnel;
	// loop.ErrDry means that no bytes are available yet. Unread returns the last bytes read,
	// which are not part of the body.
	ReadBody(p []byte) (int, error)
	Unread(p []byte)
	// Again requests ClientReadable for bytes left by ReadBody, after the other connections
	// had their turn.
	Again()

	// Interim sends a 1xx response.
	Interim(head []byte) error
	// Respond sends the head of the response and the body received so far. done means that
	// only the trailer may follow. last means that the client connection ends afterwards.
	Respond(head, part []byte, done, last bool, trailer []byte) error
	// WriteBody sends more of the body, or bytes of a tunnel.
	WriteBody(p []byte, done bool, trailer []byte) error
	// EndTunnel half-closes a tunnel towards the client; reset ends both directions.
	EndTunnel(reset bool)
	// WantsTunnel reports whether the client would interpret any 2xx as an established
	// tunnel, even if the backend meant an ordinary response (RFC 8441 section 5).
	WantsTunnel() bool

	// Room returns the number of body bytes, at most most, that the client accepts now.
	// After 0, ClientDrained is called once there is room. Pending returns the number of
	// waiting bytes.
	Room(most int) int
	Pending() int
	// SetDeadline sets the time on the loop's clock after which ClientExpired is called; 0
	// unsets it.
	SetDeadline(t int64)
	// Await sets the deadline of a client with pending bytes. Stalled then reports whether
	// it read none of them; otherwise its timeout restarts.
	Await(timeout int64)
	Stalled(timeout int64) bool
	// Listen monitors the client's end while nothing is read: at once, or after a while when
	// the deadline passes and Hear must be called.
	Listen(now bool)
	Hear()

	// Each of these ends the exchange, after Serve(nil).
	//
	// Answer sends a complete generated response; last means that the connection serves no
	// more requests.
	Answer(b []byte, last bool)
	// Finish follows a complete response. complete means that the request is complete, too,
	// and keep that another may follow.
	Finish(keep, complete bool)
	// Abort follows an incomplete response. told means that the client can detect the
	// truncation if its connection just ends; otherwise the connection is reset.
	Abort(told bool)
	// RequireHTTP1 ends an HTTP/2 stream without a response, so that its client repeats the
	// request over HTTP/1.1.
	RequireHTTP1()
	// Close is Abort for a client that left, possibly by a half-close.
	Close(told bool)
}

// Exchange is an exchange in progress and receives the client's events.
type Exchange interface {
	// Proceed is called once, after Handler.Begin: the bytes read after the request have
	// been stored.
	Proceed()
	ClientReadable()
	ClientDrained()
	ClientExpired()
	ClientGone()
	// Watches returns the kinds of client departure to watch for.
	Watches() Watch
	// BodyRefused reports whether no more of the body is accepted.
	BodyRefused() bool
	// CutOff ends the exchange if it uses one of these backends, and reports whether it did.
	CutOff(from func(backend uint32) bool) bool
	// Abort ends the exchange.
	Abort()
	// End releases the exchange after a panic. The client is gone.
	End()
}

// Watch selects the kinds of client departure that end an exchange at once.
type Watch uint8

// WatchNothing is for tunnels, which read the last bytes; WatchResets is for clients that
// may half-close; WatchCloses is for all others.
const (
	WatchNothing Watch = iota
	WatchResets
	WatchCloses
)

// Handler serves requests.
type Handler interface {
	// Begin serves the request in the Server's Request for the farm of the client's port.
	// head is the request head, which it may overwrite, and rest the bytes read after it. It
	// returns the number of bytes of rest that belong to the request.
	Begin(c Client, f *table.Farm, head, rest []byte) (used int)
	// Answered reports a response to input that never became a request.
	Answered(p *Peer, f *table.Farm, no *rejected.Cause, bytes int)
}

// taking detects a client that does not read pending bytes.
type taking struct{ held int32 } // pending bytes at the last check; 0 while inactive

func (t *taking) await(c Client, timeout int64) {
	if t.held == 0 {
		t.held = int32(c.Pending())
		c.SetDeadline(c.From().server.loop.Now() + 2*timeout)
	}
}

func (t *taking) stalled(c Client, timeout int64) bool {
	if t.held == int32(c.Pending()) {
		return true
	}
	t.held = 0
	t.await(c, timeout)
	return false
}
