package mgmt

import (
	"context"
	"log/slog"
	"slices"
	"time"

	"github.com/sluicelb/sluice/core/farm"
)

// drainLook is the interval of checks whether backends whose address left its name have
// drained.
const drainLook = 5 * time.Second

// refreshNames applies changed addresses of names.
func (m *manager) refreshNames(ctx context.Context) {
	if _, err := m.applier.RefreshNames(ctx); err != nil && ctx.Err() == nil {
		slog.Warn("addresses of names are not in force yet", "reason", err)
	}
	m.checkBackends()
	m.lookFarms()
}

// republish sends the engine changes outside of the configuration. The publisher repeats
// failed attempts.
func (m *manager) republish() {
	ctx, cancel := context.WithTimeout(context.Background(), republishTime)
	defer cancel()
	if _, err := m.applier.Republish(ctx); err != nil {
		slog.Warn("what changed is not in force yet", "reason", err)
	}
}

// republishTime bounds the wait for that.
const republishTime = 30 * time.Second

// keepNames does so periodically, to repeat failed attempts.
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

// busy reports whether a backend has connections in the engine or kernel. If the kernel's
// are unknown, it counts as busy and is checked again.
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
