package certs

import (
	"context"
	"slices"
	"time"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/mgmt/apply"
)

// lookPause is the interval between checks in Run.
const lookPause = time.Minute

// warnDays are the days before expiry with a warning.
var warnDays = []int{1, 7, 15, 30}

// Run refreshes OCSP responses and warns of expiring certificates until ctx ends.
func (m *Manager) Run(ctx context.Context) {
	tick := time.NewTicker(lookPause)
	defer tick.Stop()
	for {
		m.Look(ctx)
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		case <-m.kick:
		}
	}
}

// Look performs one iteration of Run.
func (m *Manager) Look(ctx context.Context) {
	m.unlock(ctx)
	m.warn()
	m.refresh(ctx)
}

// unlock publishes again as soon as the node key is usable, after an operator restored the
// file or corrected its mode.
func (m *Manager) unlock(ctx context.Context) {
	_, _, err := m.node.load()
	m.mu.Lock()
	was := m.locked
	m.locked = err != nil
	m.mu.Unlock()
	if !was || err != nil {
		return
	}
	nothing := func() {}
	err = m.applier.Renew(ctx, func(cfg *farm.Config) (apply.Renewal, error) {
		r := apply.Renewal{Swap: nothing, Undo: nothing, Keep: func() error { return nil }}
		for i := range cfg.Farms {
			for range references(&cfg.Farms[i]) {
				r.Farms = append(r.Farms, cfg.Farms[i].ID)
				break
			}
		}
		return r, nil
	})
	m.log.Info("the node key can be used again", "file", m.node.path)
	if err != nil {
		m.log.Warn("farms do not have their certificates yet, trying again", "error", err)
		m.mu.Lock()
		m.locked = true
		m.mu.Unlock()
	}
}

// warn logs expiring certificates at the start and once a day. Each certificate is logged
// once at 30, 15, 7 and 1 days, and daily after its expiry.
func (m *Manager) warn() {
	now := m.now()
	m.mu.Lock()
	today := now.UTC().Truncate(24 * time.Hour)
	if today.Equal(m.day) {
		m.mu.Unlock()
		return
	}
	m.day = today
	m.mu.Unlock()
	cfg, _ := m.applier.Current()
	for _, e := range m.all() {
		if e.request == nil && e.broken == nil {
			m.warnOf(e, cfg, now)
		}
	}
	for _, a := range m.Authorities() {
		if a.Problem != "" || a.Status != StatusValid {
			m.log.Warn("authorities need care", "name", a.Name, "status", string(a.Status), "reason", a.Problem, "used_by", someOf(AuthorityUsers(cfg, a.Name)))
		}
	}
}

func (m *Manager) warnOf(e *entry, cfg *farm.Config, now time.Time) {
	leaf := e.chain[0]
	days := daysLeft(leaf, now)
	limit := -1 // expired
	if now.Before(leaf.NotAfter) {
		i := slices.IndexFunc(warnDays, func(d int) bool { return days <= d })
		if i < 0 {
			return
		}
		limit = warnDays[i]
	}
	name := e.rec.Name
	m.mu.Lock()
	last, warned := m.warned[name]
	m.warned[name] = limit
	m.mu.Unlock()
	if warned && last == limit && limit > 0 {
		return
	}
	m.log.Warn("certificate "+map[bool]string{true: "has expired", false: "is about to expire"}[limit < 0], "name", name, "subject", called(leaf),
		"days_left", days, "expires", day(leaf.NotAfter), "used_by", someOf(CertificateUsers(cfg, name)))
}
