package revive

import (
	"time"

	"github.com/sluicelb/sluice/core/health"
)

// A connect from the address of a client may fail for that address alone: the
// backend's firewall drops it, or knows no way back. What one client meets is no
// finding for the others, and neither is what several meet, because whoever wants
// a backend out of use has many addresses. What decides is a try of our own, from
// our own address, which no client has a hand in. It is made at once, one at a
// time for each backend, and is the same that finds out when the backend is back.

// Doubt is Lost after a connect from the address of a client: the backend is down
// if a connect from our own fails as well. blames reports whether an error of
// that says something of the backend.
func (p *Prober) Doubt(id uint32, reach string, blames func(error) bool, now func() *Backend) {
	p.mu.Lock()
	defer p.mu.Unlock()
	b := now()
	if b == nil || b.Reach != reach {
		return
	}
	if known := p.suspects[b.key()]; known != nil && known.tried() {
		return
	}
	s := p.suspect(b)
	s.blames, s.next = blames, time.Now()
}

// settle ends a doubt. p.mu is held.
func (p *Prober) settle(k key, s *suspect, err error) {
	if err == nil || !s.blames(err) {
		if s.blames = nil; s.since.IsZero() {
			delete(p.suspects, k) // else it was down a short time ago
		}
		return
	}
	s.lose(time.Now())
	p.down(&s.Backend, err)
}

// down marks a backend that is suspect down. p.mu is held.
func (p *Prober) down(b *Backend, cause error) {
	if p.find(b, health.Down) {
		p.log.Warn("backend is down", b.Attrs("cause", cause)...)
	}
}
