package revive

import (
	"net/netip"
	"slices"
	"time"

	"github.com/sluicelb/sluice/core/health"
)

// A backend without a port is reached on whatever virtual port its clients use,
// one of a farm of TCP and UDP by both. Where there are several, that one of them
// is refused says nothing of the others: clients choose it, addresses of datagrams
// can be invented, and a server may serve one transport only. What is
// found is kept by port then, in memory of this engine, and the health table, which
// others read, says down when no port is left.

// key is what is tried again: a backend, or one port of it.
type key struct {
	id   uint32
	port Port
}

// Port is a port of a backend, of UDP or else of TCP.
type Port struct {
	Number uint16
	UDP    bool
}

func (b *Backend) key() key { return key{b.ID, b.Port} }

// On is the backend as it is reached by clients of one of its Ports; itself where
// it has none to tell apart, and nil for a port it has not.
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

// transport names the transport of the port this is about, where the backend is
// reached by several; empty otherwise.
func (b *Backend) transport() string {
	switch {
	case !slices.ContainsFunc(b.Ports, func(p Port) bool { return p.UDP != b.Port.UDP }):
		return ""
	case b.Port.UDP:
		return "udp"
	}
	return "tcp"
}

// each is what is tried instead of a backend: its ports, or itself.
func (b *Backend) each() (all []*Backend) {
	if len(b.Ports) == 0 {
		return []*Backend{b}
	}
	for _, port := range b.Ports {
		all = append(all, b.On(port))
	}
	return all
}

// Apart is what is found of a backend on one of its ports, besides what the health table
// says of it.
func (p *Prober) Apart(id uint32, port Port) *health.Slot { return p.apart.Of(key{id, port}) }

// Refused lists the ports of a backend that are known to be down.
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

// find writes what was found of a backend, or of one port of it, and reports
// whether that is new. p.mu is held.
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
