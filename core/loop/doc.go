// Package loop is the event loop every engine runs on: one Loop per CPU, each
// a goroutine of its own over gnet's exported poller.
//
// A connection belongs to one Loop from accept or Dial to Close, and so does
// everything its Handler touches: inside a loop nothing needs a lock. Work
// from other goroutines enters through Post.
//
// Budget of the hot path: 0 allocations and at most one system call per
// readiness event and direction; one epoll_ctl for a connection, and a second
// one for an accepted one that did not take all that was written to it.
//
// # Events are hints
//
// Every descriptor is registered once, edge triggered; an accepted one not before
// it has to wait, and for room to write not before there was none.
// The poller dispatches by descriptor number, so an event may belong to a
// connection that was closed earlier in the same batch and whose number is in
// use again. Nothing here believes an event: it only makes the loop try the
// system call, and the answer of the call decides. A stale event therefore
// costs one EAGAIN and harms nothing.
//
// # Back-pressure
//
// A Handler pulls bytes with Conn.Read, usually into the loop's one shared
// read buffer, and pushes them with Conn.Write. Write never blocks: what the
// kernel does not take is copied to a pooled buffer and flushed when the
// socket has room, then Drained is called. A Handler that forwards stops
// reading one side while Conn.Pending of the other is not zero; at most one
// read's worth of bytes is then held per direction.
//
// # Ends
//
// Read reports io.EOF when the peer ended its direction; the other direction
// stays open until Close. CloseWrite sends what is pending, then the FIN.
// Linger does the same and throws away what still arrives, so that the last
// answer is not destroyed by a reset.
//
// # Secure connections
//
// Conn.Secure and DialOptions.Security ask for TLS, by crypto/tls. Once
// Connected reported success, Read, Write, Pending, CloseWrite, Linger and all
// events mean what they mean for plain connections, of plaintext; Pending alone
// counts what waits as it is sent. Nobody above needs to know.
//
// A handshake runs in a coroutine of the loop's goroutine, parked while bytes
// are missing; slow private keys are used by workers meanwhile (Prepare).
// Records are opened and sealed on the loop: a Write leaves in one system call,
// and a connection that waits holds keys, but no buffer. How many handshakes
// may be under way and how many may wait is bounded (Loop.LimitHandshakes), and
// so is what one turn begins.
//
// # Datagrams
//
// A UDPListener is a bound UDP socket that clients send to, a UDPConn one that is
// connected to a peer. Both receive in batches, into buffers that all sockets of
// the loop share. What handlers send during a batch leaves at its end: all that
// goes the same way in one call, and datagrams of one length as one packet that
// the kernel takes apart. Nothing waits longer than that: what a socket does not
// take is lost, and the handler is told how much. A UDPConn reports errors that
// come back (ICMP).
//
// # Survival
//
// A panic in a Handler closes its connection and is counted; Conn.Contain says
// whose it is when one connection's event is another's work. When descriptors
// run out accepting pauses, nothing else. Nothing a peer does ends a loop.
package loop
