// Package probe checks whether backends are healthy. It has the interface of a check, the
// parser for command lines of checks, and the templates for operators.
//
// A check is written like the command of a monitoring plugin:
//
//	check_http -I HOST -p PORT -e 200 -t 5
//
// HOST and PORT stand for the backend. Sluice itself runs a built-in check, without a
// separate process, if it has every flag of the command. Otherwise it runs the plugin of
// that name, if the machine has it. No command is ever given to a shell.
//
// The protocols are in packages of their own below this one, and each of them is the only
// importer of its library. Package mgmt/probe/all contains all of them and passes them to
// Use. Code that only stores or shows commands needs this package alone.
//
// A Probe may be run by any number of goroutines at the same time.
package probe

import (
	"context"
	"net"
	"net/netip"
	"sync/atomic"
)

// Target is the backend that is checked.
type Target struct {
	Addr netip.Addr
	Port uint16
	// Name is the host name, for Host fields and SNI, if the backend was given by name; ""
	// otherwise.
	Name string
}

// Network connects a probe to its target, with the source address and mark of the farm's
// own traffic. ListenPacket supports Ping4 and Ping6 in addition to the networks of package
// net.
type Network interface {
	DialContext(ctx context.Context, network, address string) (net.Conn, error)
	ListenPacket(ctx context.Context, network, address string) (net.PacketConn, error)
}

// Say reports one line of the conversation, for an operator who tries a check. It is never
// nil. Its text is free of secrets.
type Say func(format string, args ...any)

// Probe checks a target once. Run returns nil if the target is healthy. Otherwise the error
// is the reason, in one plain line ("connection refused", "answered 503, wanted 200-399").
// Run honours ctx (or Patient), releases all resources, and does not panic. The error contains ErrLocal if
// the target did not cause the failure.
type Probe interface {
	Run(ctx context.Context, net Network, to Target, say Say) error
}

type reportKey struct{}

// Reporting returns a context in which a probe can report the load of its target. told
// returns that load; known is false if the probe reported none.
func Reporting(ctx context.Context) (_ context.Context, told func() (load uint64, known bool)) {
	var at atomic.Pointer[uint64]
	return context.WithValue(ctx, reportKey{}, &at), func() (uint64, bool) {
		if n := at.Load(); n != nil {
			return *n, true
		}
		return 0, false
	}
}

// Report reports how many connections the target has. A probe calls it with the context of
// its Run.
func Report(ctx context.Context, load uint64) {
	if at, is := ctx.Value(reportKey{}).(*atomic.Pointer[uint64]); is {
		at.Store(&load)
	}
}
