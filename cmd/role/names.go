package role

import (
	"context"
	"log/slog"
	"slices"
	"time"

	"github.com/sluicelb/sluice/core/farm"
)

// drainLook is how often is looked whether backends whose address left its name
// have drained.
const drainLook = 5 * time.Second

// refreshNames brings addresses that changed into force.
func (m *manager) refreshNames(ctx context.Context) {
	if _, err := m.applier.RefreshNames(ctx); err != nil && ctx.Err() == nil {
		slog.Warn("addresses of names are not in force yet", "reason", err)
	}
	m.checkBackends()
	m.lookFarms()
}

// republish gives the engine what changed beside the configuration. What fails is tried
// again by who publishes.
func (m *manager) republish() {
	ctx, cancel := context.WithTimeout(context.Background(), republishTime)
	defer cancel()
	if _, err := m.applier.Republish(ctx); err != nil {
		slog.Warn("what changed is not in force yet", "reason", err)
	}
}

// republishTime is how long that is waited for.
const republishTime = 30 * time.Second

// keepNames does so now and then: what could not be done is tried again.
func (m *manager) keepNames(ctx context.Context) {
	look := time.NewTicker(drainLook)
	defer look.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-look.C:
			m.refreshNames(ctx)
		}
	}
}

// busy reports whether a backend has connections, whoever carries them. What the
// kernel does not tell now counts as busy: it is asked again.
func (m *manager) busy(backend uint32) bool {
	if sum := m.counters.SumBackend(backend); sum.Established > 0 || sum.Pending > 0 {
		return true
	}
	cfg, _ := m.applier.Current()
	for i := range cfg.Farms {
		f := &cfg.Farms[i]
		if !f.InKernel() {
			continue
		}
		if slices.ContainsFunc(f.Own().Backends(), func(b farm.Backend) bool { return b.ID == backend }) {
			return m.busyInKernel(backend)
		}
	}
	return false
}

func (m *manager) busyInKernel(backend uint32) bool {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	counts, err := m.kernel.counts.get(ctx)
	if err != nil {
		return true
	}
	of := counts.Backends[backend]
	return of.Established > 0 || of.Pending > 0
}
