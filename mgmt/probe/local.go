package probe

import (
	"context"
	"errors"
	"net"
	"os"
	"syscall"
)

// ErrLocal is in the error of a Probe that could not send its request for a reason of this
// machine. Examples are a lack of descriptors, a missing source address or route, an
// unresolved name, or a program that cannot be started. Such an error says nothing about the
// target:
//
//	errors.Is(err, probe.ErrLocal)
var ErrLocal = errors.New("the target was not asked")

// Local marks an error as an error of this machine.
func Local(err error) error { return &local{err} }

type local struct{ error }

func (l *local) Unwrap() error        { return l.error }
func (l *local) Is(target error) bool { return target == ErrLocal }

// ours lists the errors of system calls that only this machine can cause, with their meaning
// for the operator.
var ours = []struct {
	errno syscall.Errno
	means string
}{
	{syscall.EMFILE, "Sluice has no file descriptor left: raise its limit (LimitNOFILE)"},
	{syscall.ENFILE, "this machine has no file descriptor left: raise sysctl fs.file-max"},
	{syscall.ENOBUFS, "this machine has no memory left for sockets"},
	{syscall.ENOMEM, "this machine has no memory left for sockets"},
	{syscall.EADDRNOTAVAIL, "the source address is not one of this machine, or no port of it is free"},
	{syscall.EADDRINUSE, "the source address is not one of this machine, or no port of it is free"},
	{syscall.EAGAIN, "the source address is not one of this machine, or no port of it is free"},
	{syscall.EPERM, "this machine does not let the packet out: look at its firewall, in output"},
	{syscall.ENETDOWN, "the network interface is down"},
	{syscall.EAFNOSUPPORT, "this machine cannot send to an address of that family from here"},
	{syscall.EINVAL, "this machine cannot send to that address from here"},
}

// notAsked returns an ErrLocal if the reason is one of this machine, nil otherwise.
func notAsked(ctx context.Context, n Network, err error) error {
	var no *net.DNSError
	switch {
	case errors.Is(err, ErrLocal):
		return saidLocal(Line(err.Error()))
	case errors.As(err, &no):
		return saidLocal(Reason(err))
	case errors.Is(err, os.ErrDeadlineExceeded): // is a timeout, independently of the system's error
		return nil
	case unroutable(err) && unroutable(routed(ctx, n, err)):
		return saidLocal("this machine has no route to the address, or is not allowed to use it")
	}
	for _, one := range ours {
		if errors.Is(err, one.errno) {
			return saidLocal(one.means)
		}
	}
	return nil
}

func saidLocal(reason string) error { return Local(errors.New("not asked: " + reason)) }

func unroutable(err error) bool {
	return errors.Is(err, syscall.ENETUNREACH) || errors.Is(err, syscall.EACCES)
}

// routed looks up an unreachable address in the routes of this machine. The error may have
// come from a router instead; then the traffic of clients ends there, too. Connecting a UDP
// socket sends nothing.
func routed(ctx context.Context, n Network, unreachable error) error {
	var op *net.OpError
	if !errors.As(unreachable, &op) || op.Addr == nil {
		return nil
	}
	host, _, err := net.SplitHostPort(op.Addr.String())
	if err != nil {
		host = op.Addr.String() // the address of a raw socket
	}
	c, err := n.DialContext(ctx, "udp", net.JoinHostPort(host, "9"))
	if err == nil {
		_ = c.Close()
	}
	return err
}
