package apply

import (
	"fmt"
	"net/netip"
	"slices"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/mgmt/validate"
)

// Rules of the kernel take packets before any socket sees them. So nothing would
// say that a farm takes the port of another program, as it does for farms in
// userspace, whose sockets cannot be opened then (contract: the collision check
// counts user-space listeners, SCTP excepted).

// Listener is a socket of this machine that waits for clients.
type Listener struct {
	UDP  bool
	Addr netip.AddrPort
}

// WithListeners sets what lists the sockets of this machine that wait for
// clients, ours included; without it farms of the kernel take what they want.
func WithListeners(list func() ([]Listener, error)) Option {
	return func(a *Applier) { a.listeners = list }
}

// checkForeign refuses farms the kernel is to carry from now on, or on another
// address or port, that would take what another program listens on. A program
// that listens on every address, or a farm that takes every one, is a warning:
// all other addresses are left to the program, or that is what was asked for.
func (a *Applier) checkForeign(old, cfg *farm.Config) (warnings []validate.Error, err error) {
	fresh := newlyTaken(old, cfg)
	if a.listeners == nil || len(fresh) == 0 {
		return nil, nil
	}
	list, err := a.listeners()
	if err != nil {
		return nil, nil // unknown is no reason to refuse
	}
	list = slices.DeleteFunc(slices.Clone(list), func(l Listener) bool { return a.ours(old, l) })
	for _, f := range fresh {
		warned := false // one of them will do
		for _, l := range list {
			if !takes(f, l) {
				continue
			}
			if l.Addr.Addr() == f.VIP {
				return nil, &validate.Error{Path: validate.FarmPath(f.Name), Field: "vport", Message: fmt.Sprintf(
					"vip and vport must not be what another program listens on, %s, got %s: its clients would come to the farm; use another vip or port, or stop that program",
					l, validate.ProfileOf(f).ListensOn(f))}
			}
			if !l.UDP && !warned { // of UDP many are no servers
				warned, warnings = true, append(warnings, validate.Error{Path: validate.FarmPath(f.Name), Field: "vport", Message: fmt.Sprintf(
					"vport: another program listens on %s; on %s it cannot be reached while the farm runs", l, f.VIP)})
			}
		}
	}
	return warnings, nil
}

// newlyTaken are the farms of cfg the kernel is to carry that take something
// the farm of old they were did not.
func newlyTaken(old, cfg *farm.Config) (out []*farm.Farm) {
	before := map[uint32]*farm.Farm{}
	for i := range old.Farms {
		if f := &old.Farms[i]; runsInKernel(f) {
			before[f.ID] = f
		}
	}
	for i := range cfg.Farms {
		f := &cfg.Farms[i]
		if !runsInKernel(f) {
			continue
		}
		was := before[f.ID]
		if f.ID == 0 || was == nil || was.Reach() != f.Reach() || address(was) != address(f) {
			out = append(out, f)
		}
	}
	return out
}

func runsInKernel(f *farm.Farm) bool { return f.InKernel() && !f.Stopped && f.VIP.IsValid() }

// ours reports whether a listener is that of a farm in userspace, or the API's.
func (a *Applier) ours(old *farm.Config, l Listener) bool {
	if !l.UDP && slices.Contains(a.rules.OwnOf(&old.System), l.Addr) {
		return true
	}
	for i := range old.Farms {
		if f := &old.Farms[i]; !f.InKernel() && !f.Stopped && f.VIP == l.Addr.Addr() && f.Takes(transportOf(l), l.Addr.Port()) {
			return true
		}
	}
	return false
}

// takes reports whether the farm takes what comes to the listener, on one
// address at least.
func takes(f *farm.Farm, l Listener) bool {
	at := l.Addr.Addr()
	if at != f.VIP && at.Is4() != f.VIP.Is4() && !(at.IsUnspecified() && at.Is6()) { // :: takes IPv4 too
		return false
	}
	return (at == f.VIP || at.IsUnspecified() || f.VIP.IsUnspecified()) && f.Takes(transportOf(l), l.Addr.Port())
}

func transportOf(l Listener) farm.L4Protocol {
	if l.UDP {
		return farm.L4UDP
	}
	return farm.L4TCP
}

// String is "tcp 10.0.0.1:22", for messages.
func (l Listener) String() string {
	if l.Addr.Addr().IsUnspecified() {
		return fmt.Sprintf("%s port %d of every address", transportOf(l), l.Addr.Port())
	}
	return fmt.Sprintf("%s %s", transportOf(l), l.Addr)
}
