package revive

import (
	"time"

	"github.com/sluicelb/sluice/core/health"
)

// suspect is a backend that is down or was down recently. One that fails again soon is
// retried at longer intervals than one that was up for long. This matters because
// connects may succeed while exchanges fail, and connects by UDP always succeed.
type suspect struct {
	Backend
	pause   time.Duration // before the next retry
	next    time.Time     // time of the next retry
	since   time.Time     // when it came back; zero while it is down
	probing bool
	blames  func(error) bool // from Doubt, while undecided; else nil
}

// newSuspect returns the entry of a backend that is down.
func newSuspect(b *Backend) *suspect {
	s := &suspect{Backend: *b, pause: min(soonest, b.Every)}
	s.next = time.Now().Add(s.pause)
	return s
}

func (s *suspect) down() bool { return s.since.IsZero() && s.blames == nil }

// tried reports whether the backend must be retried.
func (s *suspect) tried() bool { return s.since.IsZero() || s.blames != nil }

// steady reports whether the backend has been up so long that its entry can be deleted.
func (s *suspect) steady(now time.Time) bool { return !s.tried() && now.Sub(s.since) > s.Every }

// lose records that it is down. If it was up only briefly, the retry interval continues
// to grow.
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

// wait doubles the retry interval, up to Every.
func (s *suspect) wait(now time.Time) {
	s.pause = min(2*s.pause, s.Every)
	s.next = now.Add(s.pause)
}

// hurry resumes retries, and applies a reduced Every.
func (s *suspect) hurry(now time.Time) {
	s.since, s.blames = time.Time{}, nil
	s.pause = min(s.pause, s.Every)
	if soon := now.Add(s.pause); s.next.After(soon) {
		s.next = soon
	}
}

// try returns the backend with the timeout of the next retry.
func (s *suspect) try() Backend {
	b := s.Backend
	b.Timeout = min(b.Timeout, max(briefest, s.pause))
	return b
}

// A connect from a client's address (transparent mode) may fail for that address only,
// e.g. because the backend's firewall drops it or has no route back. The failure of one
// client proves nothing for others. Neither do failures of several, because an attacker
// may have many addresses. The decision therefore depends on a connect from our own
// address. It starts at once, with at most one per backend at a time, and uses the same
// mechanism as retries.

// Doubt is Lost after a failed connect from a client's address. The backend is marked
// down only if a connect from our own address also fails with an error for which blames
// returns true, i.e. one caused by the backend.
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

// decide ends a doubt. p.mu must be held.
func (p *Prober) decide(k key, s *suspect, err error) {
	if err == nil || !s.blames(err) {
		if s.blames = nil; s.since.IsZero() {
			delete(p.suspects, k) // else keep it: it was down recently
		}
		return
	}
	s.lose(time.Now())
	p.down(&s.Backend, err)
}

// down marks a suspect backend as down. p.mu must be held.
func (p *Prober) down(b *Backend, cause error) {
	if p.find(b, health.Down) {
		p.log.Warn("backend is down", b.Attrs("cause", cause)...)
	}
}
