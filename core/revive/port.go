package revive

import (
	"net/netip"
	"slices"
	"time"

	"github.com/sluicelb/sluice/core/health"
)

// A backend without a port is reached on whatever virtual port its clients use.
// Where there are several, that one of them is refused says nothing of the
// others: clients choose it, and addresses of datagrams can be invented. What is
// found is kept by port then, in memory of this engine, and the board, which
// others read, says down when no port is left.

// key is what is tried again: a backend, or one port of it.
type key struct {
	id   uint32
	port uint16
}

func (b *Backend) key() key { return key{b.ID, b.Port} }

// On is the backend as it is reached by clients of one of its Ports; itself where
// it has none to tell apart, and nil for a port it has not.
func (b *Backend) On(port uint16) *Backend {
	switch {
	case b == nil || len(b.Ports) == 0 && port == 0:
		return b
	case !slices.Contains(b.Ports, port):
		return nil
	}
	on := *b
	on.Port = port
	on.Addr = netip.AddrPortFrom(b.Addr.Addr(), port)
	return &on
}

// each is what is tried in place of a backend: its ports, or itself.
func (b *Backend) each() (all []*Backend) {
	if len(b.Ports) == 0 {
		return []*Backend{b}
	}
	for _, port := range b.Ports {
		all = append(all, b.On(port))
	}
	return all
}

// Apart is what is found of a backend on one of its ports, beside what the board
// says of it.
func (p *Prober) Apart(id uint32, port uint16) *health.Slot { return p.apart.Of(key{id, port}) }

// Refused lists the ports of a backend that are known to be down.
func (p *Prober) Refused(id uint32) (ports []uint16) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for k, s := range p.suspects {
		if k.id == id && k.port != 0 && s.down() {
			ports = append(ports, k.port)
		}
	}
	return ports
}

// find writes what was found of a backend, or of one port of it, and reports
// whether that is new. p.mu is held.
func (p *Prober) find(b *Backend, s health.State) bool {
	now := time.Now()
	if b.Port == 0 {
		return p.board.SetPassive(b.ID, s, now)
	}
	changed := p.board.SetApart(p.Apart(b.ID, b.Port), s, now)
	down := func(port uint16) bool { return p.Apart(b.ID, port).Passive() == health.Down }
	switch whole := p.board.Slot(b.ID).Passive(); {
	case !slices.ContainsFunc(b.Ports, func(port uint16) bool { return !down(port) }):
		p.board.SetPassive(b.ID, health.Down, now)
	case whole == health.Down && s != health.Down:
		p.board.SetPassive(b.ID, s, now)
	}
	return changed
}
