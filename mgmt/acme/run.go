package acme

import (
	"context"
	"math/rand/v2"
	"time"

	"github.com/sluicelb/sluice/mgmt/apply"
)

// The daily check is at 22:00 local time, as in the family, plus up to an hour, because
// authorities ask clients to spread their load. The first check comes soon after the start,
// for appliances that are off at night.
const (
	lookHour    = 22
	lookJitter  = time.Hour
	firstJitter = 10 * time.Minute
)

// Run renews due certificates daily until ctx ends.
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

// untilLook returns the time until the next full lookHour. It is more than an hour, so that
// there is one check per evening.
func untilLook(now time.Time) time.Duration {
	at := time.Date(now.Year(), now.Month(), now.Day(), lookHour, 0, 0, 0, now.Location())
	if !at.After(now.Add(lookJitter)) {
		at = time.Date(now.Year(), now.Month(), now.Day()+1, lookHour, 0, 0, 0, now.Location())
	}
	return at.Sub(now)
}

// daily is the author of scheduled renewals.
var daily = apply.Author{Name: "the appliance", Source: "daily renewal"}

// Look renews all due certificates, one after another. Failures are logged and shown with
// the certificate; the next check retries.
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
		_, _ = m.renew(ctx, daily, v.Name, false, Target{}) // logged and stored with the certificate
		<-m.turn
	}
}
