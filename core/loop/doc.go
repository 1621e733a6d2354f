// Package loop provides the event loop that all engines run on. There is one Loop per
// CPU, each with its own goroutine over gnet's exported poller.
//
// A connection belongs to one Loop from accept or Dial to Close, and so does all state
// that its Handler uses. Code on a loop therefore needs no locks. Other goroutines
// submit work with Post.
//
// Budget of the hot path: 0 allocations and at most one system call per readiness event
// and direction. A connection costs one epoll_ctl, and an accepted one a second when
// the socket buffer was too full for a write.
//
// # Events are hints
//
// Every descriptor is registered once, edge triggered. An accepted connection is
// registered for reading when it first has to wait, and for writing after its first
// incomplete write. The poller dispatches by descriptor number. An event may therefore
// belong to a connection that was closed earlier in the same batch and whose number has
// been reused. The loop does not trust events: an event only triggers the system call,
// and the result of the call decides. A stale event costs one EAGAIN.
//
// # Back-pressure
//
// A Handler pulls bytes with Conn.Read, usually into the read buffer shared by the
// loop, and pushes them with Conn.Write. Write never blocks. Bytes that the kernel does
// not accept are copied to a pooled buffer and flushed when the socket has room, then
// Drained is called. A Handler that forwards stops reading one side while Conn.Pending
// of the other is not zero. Each direction then holds at most the bytes of one read.
//
// # Ends
//
// Read returns io.EOF after the peer has ended its direction. The other direction stays
// open until Close (half-close). CloseWrite sends pending bytes, then the FIN. Linger
// does the same and discards bytes that still arrive, so that a reset does not destroy
// the last response.
//
// # Secure connections
//
// Conn.Secure and DialOptions.Security enable TLS (crypto/tls). After Connected has
// reported success, Read, Write, Pending, CloseWrite, Linger and all events work on
// plaintext, exactly as for plain connections. Pending is the exception: it counts
// ciphertext. Handlers need not distinguish the two.
//
// A handshake runs in a coroutine on the loop's goroutine and is parked while bytes are
// missing. Workers perform slow private-key operations meanwhile (Prepare). Records are
// opened and sealed on the loop. A Write leaves in one system call, and an idle
// connection holds keys but no buffer. Loop.LimitHandshakes bounds the handshakes in
// progress and those waiting. The number started per turn is bounded as well.
//
// # Datagrams
//
// A UDPListener is a bound UDP socket that receives from clients, a UDPConn one connected to
// a peer. Both receive in batches into buffers shared by all sockets of the loop. Datagrams
// that handlers send during a batch leave at its end. All datagrams of a socket leave in one
// call. Datagrams of equal length to one address leave as one packet that the kernel segments
// (UDP_SEGMENT). Nothing waits longer: datagrams that the socket does not accept are lost,
// and the handler receives their number. A UDPConn reports ICMP errors.
//
// # Survival
//
// A panic in a Handler closes its connection and is counted. Code that works for one
// connection during an event of another uses Conn.Contain to attribute the panic. If
// descriptors run out, only accepting pauses. No peer can end a loop.
package loop
