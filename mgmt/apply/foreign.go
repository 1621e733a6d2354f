package apply

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/mgmt/validate/field"
	"github.com/sluicelb/sluice/mgmt/validate/profile"
)

// Rules of the kernel get packets before any socket. So a kernel farm could take the port of
// another program without an error, unlike a farm in userspace, whose sockets cannot be opened
// then. Contract: the collision check counts user-space listeners, SCTP excepted.

// Listener is a listening socket of this machine.
type Listener struct {
	UDP  bool
	Addr netip.AddrPort
}

// WithListeners sets a function that lists the listening sockets of this machine, ours
// included. Without it kernel farms are not checked for collisions.
func WithListeners(list func() ([]Listener, error)) Option {
	return func(a *Applier) { a.listeners = list }
}

// checkForeign refuses kernel farms that are new or moved and would take the address and port
// of another program's listener. If the program or the farm uses all addresses, it returns a
// warning instead: the program keeps its other addresses, or the operator wants the takeover.
func (a *Applier) checkForeign(old, cfg *farm.Config) (warnings []field.Error, err error) {
	fresh := newlyTaken(old, cfg)
	if a.listeners == nil || len(fresh) == 0 {
		return nil, nil
	}
	list, err := a.listeners()
	if err != nil {
		return nil, nil // do not refuse if the listeners are unknown
	}
	list = slices.DeleteFunc(slices.Clone(list), func(l Listener) bool { return a.ours(old, l) })
	for _, f := range fresh {
		var taken []Listener
		for _, l := range list {
			if !takes(f, l) {
				continue
			}
			if l.Addr.Addr() == f.VIP {
				return nil, &field.Error{Path: profile.FarmPath(f.Name), Field: "vport", Message: fmt.Sprintf(
					"vip and vport must not be what another program listens on, %s, got %s: its clients would come to the farm; use another vip or port, or stop that program",
					l, profile.Of(f).ListensOn(f))}
			}
			if !l.UDP && !slices.Contains(taken, l) { // many UDP sockets are not servers
				taken = append(taken, l)
			}
		}
		if len(taken) > 0 {
			warnings = append(warnings, field.Error{Path: profile.FarmPath(f.Name), Field: "vport", Message: unreachable(f, taken, cfg.System.SSH.Port)})
		}
	}
	return warnings, nil
}

// mostTaken is the maximum number of sockets that a warning names.
const mostTaken = 8

// unreachable returns the warning about a farm that takes the traffic of listeners. It names
// each of them and marks ssh, which the administrator of the machine may depend on.
func unreachable(f *farm.Farm, taken []Listener, ssh uint16) string {
	slices.SortFunc(taken, func(a, b Listener) int { return cmp.Compare(a.Addr.Port(), b.Addr.Port()) })
	var names []string
	for _, l := range taken {
		name := l.String()
		if p := l.Addr.Port(); p == 22 || p == ssh {
			name += " (ssh)"
		}
		if !slices.Contains(names, name) { // the same for both IP versions
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

// takeovers returns the warnings about ports of other programs or of the API that a farm takes
// from now on. No other warning is about vport.
func takeovers(old, cfg *farm.Config, warnings []field.Error) (out []field.Error) {
	fresh := newlyTaken(old, cfg)
	for _, w := range warnings {
		if w.Field == "vport" && slices.ContainsFunc(fresh, func(f *farm.Farm) bool { return w.Path == profile.FarmPath(f.Name) }) {
			out = append(out, w)
		}
	}
	return out
}

// newlyTaken returns the running kernel farms of cfg whose address or ports are new compared to
// old.
func newlyTaken(old, cfg *farm.Config) (out []*farm.Farm) {
	changed := unshared(old, cfg)
	if len(changed) == 0 {
		return nil
	}
	before := make(map[uint32]*farm.Farm, len(old.Farms))
	for i := range old.Farms {
		before[old.Farms[i].ID] = &old.Farms[i]
	}
	for _, i := range changed {
		f := &cfg.Farms[i]
		if !runsInKernel(f) {
			continue
		}
		was := before[f.ID]
		if f.ID == 0 || was == nil || !runsInKernel(was) || was.Reach() != f.Reach() || address(was) != address(f) {
			out = append(out, f)
		}
	}
	return out
}

func runsInKernel(f *farm.Farm) bool { return f.InKernel() && !f.Stopped && f.VIP.IsValid() }

// ours reports whether a listener belongs to a userspace farm or to the API.
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

// takes reports whether the farm takes the traffic of the listener on at least one address.
func takes(f *farm.Farm, l Listener) bool {
	at := l.Addr.Addr()
	if at != f.VIP && at.Is4() != f.VIP.Is4() && !(at.IsUnspecified() && at.Is6()) { // :: accepts IPv4, too
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

// String returns e.g. "tcp 10.0.0.1:22", for messages.
func (l Listener) String() string {
	if l.Addr.Addr().IsUnspecified() {
		return fmt.Sprintf("%s port %d of every address", transportOf(l), l.Addr.Port())
	}
	return fmt.Sprintf("%s %s", transportOf(l), l.Addr)
}
