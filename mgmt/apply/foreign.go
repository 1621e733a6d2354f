package apply

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"
	"strings"

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
		var taken []Listener
		for _, l := range list {
			if !takes(f, l) {
				continue
			}
			if l.Addr.Addr() == f.VIP {
				return nil, &validate.Error{Path: validate.FarmPath(f.Name), Field: "vport", Message: fmt.Sprintf(
					"vip and vport must not be what another program listens on, %s, got %s: its clients would come to the farm; use another vip or port, or stop that program",
					l, validate.ProfileOf(f).ListensOn(f))}
			}
			if !l.UDP && !slices.Contains(taken, l) { // of UDP many are no servers
				taken = append(taken, l)
			}
		}
		if len(taken) > 0 {
			warnings = append(warnings, validate.Error{Path: validate.FarmPath(f.Name), Field: "vport", Message: unreachable(f, taken, cfg.System.SSH.Port)})
		}
	}
	return warnings, nil
}

// mostTaken is how many sockets a warning names.
const mostTaken = 8

// unreachable is the warning of a farm that takes what comes to some listeners. It names
// each of them, and ssh by its name: whoever administers the machine may come by it.
func unreachable(f *farm.Farm, taken []Listener, ssh uint16) string {
	slices.SortFunc(taken, func(a, b Listener) int { return cmp.Compare(a.Addr.Port(), b.Addr.Port()) })
	var names []string
	for _, l := range taken {
		name := l.String()
		if p := l.Addr.Port(); p == 22 || p == ssh {
			name += " (ssh)"
		}
		if !slices.Contains(names, name) { // of both IP versions
			names = append(names, name)
		}
	}
	if len(names) == 1 {
		return fmt.Sprintf("vport: another program listens on %s; on %s it cannot be reached while the farm runs", names[0], f.VIP)
	}
	if more := len(names) - mostTaken; more > 0 {
		names = append(names[:mostTaken], fmt.Sprintf("%d more", more))
	}
	return fmt.Sprintf("vport: other programs listen on %s; on %s they cannot be reached while the farm runs", strings.Join(names, ", "), f.VIP)
}

// takeovers returns those of the warnings that are about ports of this machine which a farm
// takes from now on: of other programs, or of the API. No other warning is about vport.
func takeovers(old, cfg *farm.Config, warnings []validate.Error) (out []validate.Error) {
	fresh := newlyTaken(old, cfg)
	for _, w := range warnings {
		if w.Field == "vport" && slices.ContainsFunc(fresh, func(f *farm.Farm) bool { return w.Path == validate.FarmPath(f.Name) }) {
			out = append(out, w)
		}
	}
	return out
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
