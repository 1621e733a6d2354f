package acme

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/mholt/acmez/v3/acme"
)

// txt is one TXT record an authority asks for. A domain and its wildcard have
// one name and two values: both must be there at once.
type txt struct{ domain, name, value string }

// dnsSolver has the hook make the records of one order, waits until they can be
// seen, and has it take them away when the order is over, however it ended.
type dnsSolver struct {
	m       *Manager
	hook    recordHook
	servers []string
	wait    time.Duration
	records []txt // that may be there
	seen    bool
}

// Present implements acmez.Solver.
func (s *dnsSolver) Present(ctx context.Context, c acme.Challenge) error {
	r := txt{domain: c.Identifier.Value, name: c.DNS01TXTRecordName(), value: c.DNS01KeyAuthorization()}
	// The authority names what we asked for; nothing else becomes an argument.
	if _, err := checkDomains([]string{r.domain}, HTTP01); err != nil {
		return invalid("the authority asks for the domain %q, which was not ordered", show(r.domain))
	}
	s.records = append(s.records, r) // half made is to be taken away, too
	return s.hook.run(ctx, "present", r.domain, r.name, r.value)
}

// Wait implements acmez.Waiter: it returns once all records can be seen.
func (s *dnsSolver) Wait(ctx context.Context, _ acme.Challenge) error {
	if s.seen {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, s.wait)
	defer cancel()
	look := &lookout{servers: s.servers, port: s.m.options.DNSPort}
	missing, err := look.until(ctx, s.records)
	if err != nil {
		return refuse(Unreachable, "the record %s cannot be seen everywhere after %s: %s", missing, s.wait, show(err.Error()))
	}
	s.seen = true
	return nil
}

// CleanUp implements acmez.Solver; clear takes all records away at the end.
func (s *dnsSolver) CleanUp(context.Context, acme.Challenge) error { return nil }

// removeTimeout bounds the removal of all records of an order.
const removeTimeout = 5 * time.Minute

// clear has the hook take away what it made. One that stays does no harm: it
// answers a question that is not asked again.
func (s *dnsSolver) clear(ctx context.Context) {
	limit := removeTimeout
	if errors.Is(context.Cause(ctx), context.Canceled) {
		limit = clearTimeout // given up, perhaps because the appliance stops
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), limit)
	defer cancel()
	for _, r := range slices.Backward(s.records) {
		if err := s.hook.run(ctx, "cleanup", r.domain, r.name, r.value); err != nil {
			s.m.options.Log.Warn("a record of an order was not taken away", "record", r.name, "reason", err)
		}
	}
}
