package revive

import (
	"net/netip"
	"slices"
	"time"

	"github.com/sluicelb/sluice/core/health"
)

// A backend without a port is reached on the virtual ports that its clients use, on a
// farm of TCP and UDP by both transports. If there are several, a refusal on one says
// nothing about the others. Clients choose the port, UDP source addresses can be
// forged, and a server may offer one transport only. The state is therefore kept per
// port, in memory of this engine. The health table, which other processes read, reports
// down when all ports are down.

// key identifies a backend or one of its ports.
type key struct {
	id   uint32
	port Port
}

// Port is a UDP or TCP port of a backend.
type Port struct {
	Number uint16
	UDP    bool
}

func (b *Backend) key() key { return key{b.ID, b.Port} }

// On returns the backend as reached on one of its Ports. It returns b if b has no Ports
// and port is zero, and nil for an unknown port.
func (b *Backend) On(port Port) *Backend {
	switch {
	case b == nil || len(b.Ports) == 0 && port == (Port{}):
		return b
	case !slices.Contains(b.Ports, port):
		return nil
	}
	on := *b
	on.Port, on.Blind = port, port.UDP
	on.Addr = netip.AddrPortFrom(b.Addr.Addr(), port.Number)
	return &on
}

// transport returns "udp" or "tcp" for the backend's Port if its Ports have both
// transports, else "".
func (b *Backend) transport() string {
	switch {
	case !slices.ContainsFunc(b.Ports, func(p Port) bool { return p.UDP != b.Port.UDP }):
		return ""
	case b.Port.UDP:
		return "udp"
	}
	return "tcp"
}

// each returns the backends to try: one for each port, or b itself.
func (b *Backend) each() (all []*Backend) {
	if len(b.Ports) == 0 {
		return []*Backend{b}
	}
	for _, port := range b.Ports {
		all = append(all, b.On(port))
	}
	return all
}

// Apart returns the state of a backend on one of its ports, which supplements the
// health table.
func (p *Prober) Apart(id uint32, port Port) *health.Slot { return p.apart.Of(key{id, port}) }

// Refused returns the ports of a backend that are known to be down.
func (p *Prober) Refused(id uint32) (ports []Port) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for k, s := range p.suspects {
		if k.id == id && k.port != (Port{}) && s.down() {
			ports = append(ports, k.port)
		}
	}
	return ports
}

// find records the state of a backend or of one of its ports, and reports whether it
// changed. p.mu must be held.
func (p *Prober) find(b *Backend, s health.State) bool {
	now := time.Now()
	if b.Port == (Port{}) {
		return p.health.SetPassive(b.ID, s, now)
	}
	changed := p.health.SetApart(p.Apart(b.ID, b.Port), s, now)
	down := func(port Port) bool { return p.Apart(b.ID, port).Passive() == health.Down }
	switch {
	case !slices.ContainsFunc(b.Ports, func(port Port) bool { return !down(port) }):
		p.health.SetPassive(b.ID, health.Down, now)
	case s != health.Down:
		p.health.SetPassive(b.ID, s, now)
	}
	return changed
}
