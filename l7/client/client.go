package client

import (
	"github.com/sluicelb/sluice/l7/rejected"
	"github.com/sluicelb/sluice/l7/table"
)

// Client is the client side of exchanges: a connection of HTTP/1 for one after the
// other, a stream of HTTP/2 for one.
//
// What is sent differs: HTTP/1 gets bodies in chunks, with the trailer behind the
// last one; where Peer.Frames says so they are sent as they are, their end is told
// and the trailer given apart.
type Client interface {
	// From is the connection its requests come over.
	From() *Peer
	// Serve has ex told what happens to the client; after nil nobody is.
	Serve(ex Exchange)

	// ReadBody reads bytes of the request's body as HTTP/1.1 has them, or of a tunnel;
	// loop.ErrDry means that nothing is there now. Unread gives back the last of
	// what was read: it is not of the body.
	ReadBody(p []byte) (int, error)
	Unread(p []byte)
	// Again has ClientReadable called for what ReadBody left, after others had
	// their turn.
	Again()

	// Interim sends an answer 1xx.
	Interim(head []byte) error
	// Respond sends the head of the answer and what has come of its body; done says
	// that this is all but for the trailer, last that the client's connection ends
	// behind it.
	Respond(head, part []byte, done, last bool, trailer []byte) error
	// WriteBody sends more of the body, or bytes of a tunnel.
	WriteBody(p []byte, done bool, trailer []byte) error
	// EndTunnel tells the client that its direction of a tunnel is over; reset that
	// the other one is, too.
	EndTunnel(reset bool)
	// WantsTunnel reports whether any 2xx would tell the client that its tunnel is
	// established, whatever the backend meant (RFC 8441 section 5).
	WantsTunnel() bool

	// Room is how many bytes of a body, most at most, the client takes now. After 0
	// ClientDrained is called once there is room. Pending is how much waits for it.
	Room(most int) int
	Pending() int
	// SetDeadline has ClientExpired called once the loop's clock has passed t; 0
	// unsets it.
	SetDeadline(t int64)
	// Await sets the deadline of a client that does not take what is pending.
	// Stalled then reports whether it took nothing of it; if it did, it gets as much
	// time again.
	Await(timeout int64)
	Stalled(timeout int64) bool
	// Listen has the client's end noticed while nothing is read from it, at once or
	// after a while, when the deadline passes: Hear is to be called then.
	Listen(now bool)
	Hear()

	// Each of these ends the exchange, for which Serve(nil) was called before.
	//
	// Answer sends a whole answer of ours; last says that no other request of the
	// connection is served.
	Answer(b []byte, last bool)
	// Finish follows a complete answer; complete says that the request is, too, and
	// keep that the next one may follow.
	Finish(keep, complete bool)
	// Abort follows an answer that will not be complete. told says that the client
	// sees that when its connection just ends; otherwise that is made a reset.
	Abort(told bool)
	// RequireHTTP1 ends a stream of HTTP/2 without an answer: its client is to repeat the
	// request over HTTP/1.1.
	RequireHTTP1()
	// Close is Abort for a client that is gone, perhaps in one direction only.
	Close(told bool)
}

// Exchange is what a client has under way; it is told what happens to the client.
type Exchange interface {
	// Proceed is called once, after Handler.Begin: what was read behind the request
	// is put away.
	Proceed()
	ClientReadable()
	ClientDrained()
	ClientExpired()
	ClientGone()
	// Watches is which ways a client goes away are looked for.
	Watches() Watch
	// BodyRefused reports whether no more of the body is taken.
	BodyRefused() bool
	// CutOff ends the exchange if it is with one of these backends, and reports whether.
	CutOff(from func(backend uint32) bool) bool
	// Abort ends it in any case.
	Abort()
	// End gives it back after a panic: the client is not there any more.
	End()
}

// Watch is which ways its client goes away end an exchange at once.
type Watch uint8

// WatchNothing is for tunnels, which read what was said last; WatchResets for
// clients who may end their direction; WatchCloses for all others.
const (
	WatchNothing Watch = iota
	WatchResets
	WatchCloses
)

// Handler serves requests.
type Handler interface {
	// Begin serves the request that was parsed into the Server's Request, for the
	// farm behind the client's port. head is its bytes, which are used up, and rest
	// what was read behind it; the number of its bytes that belong to the request is
	// returned.
	Begin(c Client, f *table.Farm, head, rest []byte) (used int)
	// Answered is told of an answer to what never became a request.
	Answered(p *Peer, f *table.Farm, no *rejected.Cause, bytes int)
}

// taking watches whether a client takes what is pending.
type taking struct{ held int32 } // bytes that had not left at the last look; 0 while nobody looks

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
