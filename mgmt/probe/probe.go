// Package probe asks backends whether they are healthy: the interface of a check,
// the command lines checks are written in, and the templates operators begin with.
//
// A check is written as operators of monitoring plugins write it:
//
//	check_http -I HOST -p PORT -e 200 -t 5
//
// HOST and PORT stand for the backend that is asked. Names that are built in are
// run by Sluice itself, without a process of their own, when every flag is one it
// knows; otherwise by the plugin of that name, if the machine has it. No command is
// ever seen by a shell.
//
// The protocols lie in packages of their own below this one, each the door of the
// library it uses; mgmt/probe/all knows them all and gives them to Use. Whoever
// only stores or shows commands needs this package alone.
//
// A Probe may be run by any number of goroutines at the same time.
package probe

import (
	"context"
	"net"
	"net/netip"
	"sync/atomic"
)

// Target is who is asked.
type Target struct {
	Addr netip.Addr
	Port uint16
	// Name is the host name, for Host fields and SNI, when the backend was given by
	// name; "" otherwise.
	Name string
}

// Network is how a probe reaches its target: source address and mark of the farm's
// own traffic are in it. Besides the networks of package net, ListenPacket is asked
// for Ping4 and Ping6.
type Network interface {
	DialContext(ctx context.Context, network, address string) (net.Conn, error)
	ListenPacket(ctx context.Context, network, address string) (net.PacketConn, error)
}

// Say tells one line of the conversation, for whoever tries a check by hand. It is
// never nil, and never given a secret.
type Say func(format string, args ...any)

// Probe asks once. nil: the target is healthy. Otherwise the error is the reason, in
// one plain line ("connection refused", "answered 503, wanted 200-399"). It honours
// ctx, leaks nothing, and never panics out. ErrLocal is in it when the target is not to
// blame.
type Probe interface {
	Run(ctx context.Context, net Network, to Target, say Say) error
}

type reportKey struct{}

// Reporting returns a context in which a probe can tell how much its target has to do, and
// what it told; known is false if it told nothing.
func Reporting(ctx context.Context) (_ context.Context, told func() (load uint64, known bool)) {
	var at atomic.Pointer[uint64]
	return context.WithValue(ctx, reportKey{}, &at), func() (uint64, bool) {
		if n := at.Load(); n != nil {
			return *n, true
		}
		return 0, false
	}
}

// Report tells how many connections the target has: a probe that knows it calls this with
// the context it runs with.
func Report(ctx context.Context, load uint64) {
	if at, is := ctx.Value(reportKey{}).(*atomic.Pointer[uint64]); is {
		at.Store(&load)
	}
}
