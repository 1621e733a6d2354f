package revive

import (
	"time"

	"github.com/sluicelb/sluice/core/health"
)

// suspect is one backend that is down, or was a short time ago: one that goes
// down again at once is not tried as often as one that was up for long. Connects
// may succeed though exchanges fail, and those of UDP always do.
type suspect struct {
	Backend
	pause   time.Duration // before the next try
	next    time.Time     // when that is due
	since   time.Time     // when it came back; zero while it is down
	probing bool
	blames  func(error) bool // of Doubt, while nothing is found yet; nil otherwise
}

// newSuspect is a backend that is found down.
func newSuspect(b *Backend) *suspect {
	s := &suspect{Backend: *b, pause: min(soonest, b.Every)}
	s.next = time.Now().Add(s.pause)
	return s
}

func (s *suspect) down() bool { return s.since.IsZero() && s.blames == nil }

// tried reports whether it is to be connected to.
func (s *suspect) tried() bool { return s.since.IsZero() || s.blames != nil }

// steady reports whether it has been up for so long that what was before does not
// count any more.
func (s *suspect) steady(now time.Time) bool { return !s.tried() && now.Sub(s.since) > s.Every }

// lose notes that it is down. If it was up for a short time it goes on where it
// was.
func (s *suspect) lose(now time.Time) {
	back, doubted := !s.since.IsZero(), s.blames != nil
	s.since, s.blames = time.Time{}, nil
	switch {
	case back:
		s.wait(now)
	case doubted:
		s.next = now.Add(s.pause)
	}
}

// wait puts off the next try, longer than the one before.
func (s *suspect) wait(now time.Time) {
	s.pause = min(2*s.pause, s.Every)
	s.next = now.Add(s.pause)
}

// hurry keeps to a time between tries that was made shorter.
func (s *suspect) hurry(now time.Time) {
	s.since, s.blames = time.Time{}, nil
	s.pause = min(s.pause, s.Every)
	if soon := now.Add(s.pause); s.next.After(soon) {
		s.next = soon
	}
}

// try is the backend as the next try connects to it.
func (s *suspect) try() Backend {
	b := s.Backend
	b.Timeout = min(b.Timeout, max(briefest, s.pause))
	return b
}

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

// decide ends a doubt. p.mu is held.
func (p *Prober) decide(k key, s *suspect, err error) {
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
