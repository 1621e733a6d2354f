package client

import (
	"net/netip"
	"time"

	"github.com/sluicelb/sluice/core/ratelimit"
)

// Penalties make those come back more slowly whose HTTP/2 connections to a farm
// were ended because of a flood: the next one from that address, or /64, is
// accepted and then waits before it is heard. The wait doubles with every flood
// and shrinks again with time. Nobody is turned away, because others may be behind
// the same address; who speaks HTTP/1, or is connected already, notices nothing.
// What is remembered is bounded as that of ratelimit is.
type Penalties struct{ floods *ratelimit.Table }

// NewPenalties returns those of nobody.
func NewPenalties() *Penalties { return &Penalties{ratelimit.NewTable()} }

// flooding is how floods are remembered: one is forgotten every five seconds, and
// of an address no more than a minute's worth is known.
var flooding = ratelimit.New(12, time.Minute, 12)

const (
	// firstDelay is what one flood costs the next connection; lastDelay is the
	// most, which six in a row reach.
	firstDelay = second / 10
	lastDelay  = firstDelay << 5
)

// charge notes a flood.
func (p *Penalties) charge(farm uint32, from netip.Addr, now int64) {
	p.floods.Take(p.key(farm, from), now, flooding)
}

// delay is how long a new connection has to wait.
func (p *Penalties) delay(farm uint32, from netip.Addr, now int64) int64 {
	n := p.floods.Owes(p.key(farm, from), now, flooding)
	if n == 0 {
		return 0
	}
	return min(firstDelay<<(n-1), lastDelay)
}

// key is that of an address at a farm: other farms have nothing to do with it.
func (p *Penalties) key(farm uint32, from netip.Addr) ratelimit.Key {
	return p.floods.Address(from) ^ ratelimit.Key(uint64(farm)<<32)
}
