package acme

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/mholt/acmez/v3/acme"
)

// txt is one TXT record requested by an authority. A domain and its wildcard share a name
// with two values, which must exist at the same time.
type txt struct{ domain, name, value string }

// dnsSolver makes the hook create the records of an order, waits until they are visible,
// and makes the hook remove them after the order, whatever its result.
type dnsSolver struct {
	m       *Manager
	hook    recordHook
	servers []string
	wait    time.Duration
	records []txt // that may exist
	seen    bool
}

// Present implements acmez.Solver.
func (s *dnsSolver) Present(ctx context.Context, c acme.Challenge) error {
	r := txt{domain: c.Identifier.Value, name: c.DNS01TXTRecordName(), value: c.DNS01KeyAuthorization()}
	// The domain comes from the authority. Only ordered ones become arguments.
	if _, err := checkDomains([]string{r.domain}, HTTP01); err != nil {
		return invalid("the authority asks for the domain %q, which was not ordered", show(r.domain))
	}
	s.records = append(s.records, r) // before the call: a record that was partly created must be removed, too
	return s.hook.run(ctx, "present", r.domain, r.name, r.value)
}

// Wait implements acmez.Waiter. It returns once all records are visible.
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

// CleanUp implements acmez.Solver. It does nothing, because clear removes all records at
// the end.
func (s *dnsSolver) CleanUp(context.Context, acme.Challenge) error { return nil }

// removeTimeout bounds the removal of all records of an order.
const removeTimeout = 5 * time.Minute

// clear makes the hook remove its records. A remaining record is harmless, because
// authorities do not query it again.
func (s *dnsSolver) clear(ctx context.Context) {
	limit := removeTimeout
	if errors.Is(context.Cause(ctx), context.Canceled) {
		limit = clearTimeout // cancelled, perhaps because the appliance stops
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), limit)
	defer cancel()
	for _, r := range slices.Backward(s.records) {
		if err := s.hook.run(ctx, "cleanup", r.domain, r.name, r.value); err != nil {
			s.m.options.Log.Warn("a record of an order was not taken away", "record", r.name, "reason", err)
		}
	}
}
