package acme

import (
	"context"
	"regexp"
	"sync"
	"time"

	"github.com/mholt/acmez/v3/acme"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/mgmt/apply"
)

// httpSolver publishes the challenge responses of an order, all before the authority is
// notified, and removes them at its end.
type httpSolver struct {
	m          *Manager
	endpoint   endpoint
	challenges []farm.Challenge
	published  int
}

// tokenForm matches a valid token (RFC 8555 §8.3) of limited length, because it becomes a
// path in every engine.
var tokenForm = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^[A-Za-z0-9_-]{1,256}$`)
})

// Present implements acmez.Solver.
func (s *httpSolver) Present(_ context.Context, c acme.Challenge) error {
	if !tokenForm().MatchString(c.Token) || len(c.KeyAuthorization) > 1024 {
		return invalid("the authority sent a token that is none: %q", show(c.Token))
	}
	s.challenges = append(s.challenges, farm.Challenge{Token: c.Token, Answer: c.KeyAuthorization})
	return nil
}

// Wait implements acmez.Waiter. It returns once the engine responds to the challenges.
func (s *httpSolver) Wait(ctx context.Context, _ acme.Challenge) error {
	if s.published == len(s.challenges) {
		return nil
	}
	err := s.publish(ctx, func() { s.m.options.Responder.put(s.challenges, s.endpoint.at) })
	if err != nil {
		return refuse(Missing, "the authority cannot be answered at %s: %s", s.where(), show(err.Error()))
	}
	s.published = len(s.challenges)
	return nil
}

func (s *httpSolver) where() string {
	if s.endpoint.at.IsValid() {
		return s.endpoint.at.String()
	}
	return "the farm"
}

// CleanUp implements acmez.Solver. It does nothing, because clear removes all responses at
// the end.
func (s *httpSolver) CleanUp(context.Context, acme.Challenge) error { return nil }

// clearTimeout bounds the publication that removes the responses.
const clearTimeout = 30 * time.Second

// clear restores the state before the order, even after a timeout, or if its author has lost
// rights. If that fails, the next publication does it, because no challenge is left.
func (s *httpSolver) clear(ctx context.Context) {
	if len(s.challenges) == 0 {
		return
	}
	responder := s.m.options.Responder
	ctx, cancel := context.WithTimeout(apply.WithoutAdmission(context.WithoutCancel(ctx)), clearTimeout)
	defer cancel()
	responder.put(nil, s.endpoint.at)
	if err := s.publish(ctx, func() {}); err != nil {
		s.m.options.Log.Warn("the answers of an order stay with the engine until the next change", "error", err)
	}
}

// publish changes the challenges and publishes them; on failure none is left.
func (s *httpSolver) publish(ctx context.Context, change func()) error {
	responder := s.m.options.Responder
	return s.m.options.Applier.Renew(ctx, func(cfg *farm.Config) (apply.Renewal, error) {
		return apply.Renewal{
			Farms: []uint32{s.reached(cfg)},
			Swap:  change,
			Undo:  func() { responder.put(nil, s.endpoint.at) },
			Keep:  func() error { return nil },
		}, nil
	})
}

// reached returns the farm whose problems would make the publication pointless.
func (s *httpSolver) reached(cfg *farm.Config) uint32 {
	if !s.endpoint.at.IsValid() {
		return s.endpoint.farm
	}
	if f := listening(cfg, s.endpoint.at); f != nil {
		return f.ID
	}
	f := temporary(cfg, s.endpoint.at)
	return f.ID
}
