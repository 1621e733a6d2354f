package rounds

import (
	"net/netip"

	"github.com/sluicelb/sluice/bench/cases"
	"github.com/sluicelb/sluice/bench/launch"
)

// provide starts the special backend of a case, if any: one for datagrams, or one that is
// not pinned.
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

// backendOf returns the backend address of a case.
func (r *Runner) backendOf(c cases.Case) netip.AddrPort {
	switch {
	case c.Window > 0:
		return r.echoes
	case c.Default:
		return r.roams
	}
	return r.address
}

// backends returns the started backends.
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

// pin returns the CPU of a process in a case, or unpinned.
func pin(c cases.Case, cpu int) int {
	if c.Default {
		return unpinned
	}
	return cpu
}
