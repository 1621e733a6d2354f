// Package ctl is the narrow contract between mgmt, which decides, and netd,
// which alone may touch what the kernel guards: one request, one reply, both
// small JSON messages on a unixpacket socket, descriptors attached to the
// reply. Sockets are named by keys: "tcp/192.0.2.1:80", "udp/192.0.2.1:53".
//
// # The way through it
//
// netd calls Serve with the socket it inherited and the uids that may ask;
// everyone else is turned away before a byte is read. mgmt calls Open, Close and
// List for sockets; every field is checked against its range before it is used
// (message.go). Everything else is asked of parts: operations with a body, which
// the part checks as strictly (parts.go). No free text reaches the kernel, so a
// hostile mgmt can do what these operations do and nothing else.
//
// # What netd keeps
//
// netd keeps every socket it opened and hands out the same ones when asked for
// the same key again: an engine that died and came back goes on with the
// queued connections of its predecessor. The kernel groups SO_REUSEPORT
// sockets by effective uid, so all sockets of one address are opened here and
// never by the engine.
//
// # What the engine gets
//
// ServeMarks hears the engine, over a pair of its own, and gives it sockets
// that have a mark (core/marks): new, unconnected, TCP or UDP, of a kind mgmt has
// published, and nothing else.
//
// # Goroutines
//
// Serve runs one goroutine per connection over one table with one lock;
// opening sockets is rare and quick. ServeMarks is one goroutine. A Client may be used by any goroutine,
// its calls take turns.
package ctl
