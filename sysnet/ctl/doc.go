// Package ctl defines the requests by which mgmt has netd perform privileged operations.
// One request gets one reply. Both are small JSON messages on a unixpacket socket, and
// descriptors are attached to them. Keys name sockets: "tcp/192.0.2.1:80",
// "udp/192.0.2.1:53".
//
// # The way through it
//
// netd calls Serve with the socket it inherited and the uids that may connect. Peers with
// another uid are closed before a byte is read. mgmt calls Open, Close and List for
// sockets; every field is checked against its range before use (message.go). All other
// operations belong to parts: their requests have a body, which the part validates as
// strictly (parts.go). No free text reaches the kernel, so a compromised mgmt can perform
// these operations and nothing else.
//
// # What netd keeps
//
// netd keeps every socket it opened and returns the same ones for the same key. A
// restarted engine thus continues with the accept queue of its predecessor. The kernel
// groups SO_REUSEPORT sockets by effective uid, so netd opens all sockets of one address
// and the engine opens none.
//
// # What the engine gets
//
// ServeMarks serves the engine over a separate socket pair. It hands out sockets with a
// mark (core/marks): new, unconnected, TCP or UDP, and only of a kind that mgmt has
// published.
//
// # Goroutines
//
// Serve runs one goroutine per connection over one table with one lock, because opening
// sockets is rare and fast. ServeMarks is one goroutine. A Client is safe for concurrent
// use; its calls are serialized.
package ctl
