package client

import (
	"net/netip"
	"time"

	"github.com/sluicelb/sluice/core/ratelimit"
)

// Penalties delay clients whose HTTP/2 connections to a farm ended because of a flood. The
// next connection from that address, or /64, is accepted but read only after a delay. The
// delay doubles with every flood and shrinks over time. Connections are not refused, because
// others may share the address. HTTP/1 and existing connections are unaffected. Memory is
// bounded as in ratelimit.
type Penalties struct{ floods *ratelimit.Table }

// NewPenalties returns empty Penalties.
func NewPenalties() *Penalties { return &Penalties{ratelimit.NewTable()} }

// flooding is the decay of floods: one every five seconds, up to a minute per address.
var flooding = ratelimit.New(12, time.Minute, 12)

const (
	// firstDelay is the delay after one flood; lastDelay is the maximum, after six in a row.
	firstDelay = second / 10
	lastDelay  = firstDelay << 5
)

// charge records a flood.
func (p *Penalties) charge(farm uint32, from netip.Addr, now int64) {
	p.floods.Take(p.key(farm, from), now, flooding)
}

// delay returns the delay of a new connection.
func (p *Penalties) delay(farm uint32, from netip.Addr, now int64) int64 {
	n := p.floods.Owes(p.key(farm, from), now, flooding)
	if n == 0 {
		return 0
	}
	return min(firstDelay<<(n-1), lastDelay)
}

// key returns the key of an address at a farm, because farms are independent.
func (p *Penalties) key(farm uint32, from netip.Addr) ratelimit.Key {
	return p.floods.Address(from) ^ ratelimit.Key(uint64(farm)<<32)
}
