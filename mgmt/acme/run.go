package acme

import (
	"context"
	"math/rand/v2"
	"time"

	"github.com/sluicelb/sluice/mgmt/apply"
)

// The daily look is at 22:00 of the appliance's clock, as in the family, and up
// to an hour later: authorities ask not to be met by everybody at once. The
// first look comes soon after the start, for an appliance that is off at night.
const (
	lookHour    = 22
	lookJitter  = time.Hour
	firstJitter = 10 * time.Minute
)

// Run renews what is due every day until ctx ends.
func (m *Manager) Run(ctx context.Context) {
	wait := rand.N(firstJitter)
	for {
		timer := time.NewTimer(wait)
		select {
		case <-ctx.Done():
			timer.Stop()
			return
		case <-timer.C:
		}
		m.Look(ctx)
		wait = untilLook(m.options.Now()) + rand.N(lookJitter)
	}
}

// untilLook is how long it takes to the next full lookHour, more than an hour
// so that a look never follows one of the same evening.
func untilLook(now time.Time) time.Duration {
	at := time.Date(now.Year(), now.Month(), now.Day(), lookHour, 0, 0, 0, now.Location())
	if !at.After(now.Add(lookJitter)) {
		at = time.Date(now.Year(), now.Month(), now.Day()+1, lookHour, 0, 0, 0, now.Location())
	}
	return at.Sub(now)
}

// daily is the author of the renewals that are due.
var daily = apply.Author{Name: "the appliance", Source: "daily renewal"}

// Look renews once what is due, one after the other. Failures are logged and
// shown with the certificate; the next look tries again.
func (m *Manager) Look(ctx context.Context) {
	for _, v := range m.List() {
		if !v.Renewal.Auto || m.options.Now().Before(v.Due) {
			continue
		}
		select {
		case m.turn <- struct{}{}:
		case <-ctx.Done():
			return
		}
		_, _ = m.renew(ctx, daily, v.Name, false, Target{}) // logged, and kept with the certificate
		<-m.turn
	}
}
