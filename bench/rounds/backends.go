package rounds

import (
	"net/netip"

	"github.com/sluicelb/sluice/bench/cases"
	"github.com/sluicelb/sluice/bench/launch"
)

// provide starts the backend of a case that needs another one than most: one
// for datagrams, or one that is not pinned.
func (r *Runner) provide(c cases.Case) (err error) {
	free := netip.AddrPortFrom(r.address.Addr(), 0)
	switch {
	case c.Window > 0 && r.echo == nil:
		r.echo, r.echoes, err = r.begin(r.opts.BackendCPU, "echo", free)
	case c.Default && r.roaming == nil:
		var port uint16
		if port, err = r.ports.Take(); err == nil {
			r.roaming, r.roams, err = r.begin(unpinned, "backend", netip.AddrPortFrom(r.address.Addr(), port))
		}
	}
	return err
}

// backendOf is where the contestants of a case send what comes to them.
func (r *Runner) backendOf(c cases.Case) netip.AddrPort {
	switch {
	case c.Window > 0:
		return r.echoes
	case c.Default:
		return r.roams
	}
	return r.address
}

// backends are those that were started.
func (r *Runner) backends() []*launch.Process {
	var out []*launch.Process
	for _, p := range []*launch.Process{r.backend, r.echo, r.roaming} {
		if p != nil {
			out = append(out, p)
		}
	}
	return out
}

const unpinned = -1

// pin is the CPU that a process of a case has, if it is pinned.
func pin(c cases.Case, cpu int) int {
	if c.Default {
		return unpinned
	}
	return cpu
}
