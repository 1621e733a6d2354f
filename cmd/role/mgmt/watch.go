package mgmt

import (
	"context"
	"log/slog"
	"maps"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/mgmt/event"
	"github.com/sluicelb/sluice/mgmt/farmstate"
	"github.com/sluicelb/sluice/mgmt/notify"
	"github.com/sluicelb/sluice/sysnet/addr"
)

// Intervals of checks: watchLook for unreported problems of farms, addressLook for their
// addresses, healthLook for health states, which is cheap while they are unchanged. The
// interval followLook is for backend changes if DNS answers contain addresses of this
// appliance's farms, so that answers follow at once.
const (
	watchLook   = 2 * time.Second
	addressLook = 500 * time.Millisecond
	healthLook  = 250 * time.Millisecond
	followLook  = 20 * time.Millisecond
)

// watch finds what keeps running farms from serving: an address removed from its interface,
// unresponsive backends, firewalls. netd watches kernel farms.
type watch struct {
	silent farmstate.Silent

	moved   atomic.Uint64 // grows with each change of absent or dropped
	mu      sync.Mutex
	absent  map[uint32]string   // by farm ID
	dropped map[uint32][]string // by farm ID

	seen  *farm.Config // at the previous firewall check
	looks int          // since the start

	engine time.Time // start time of the engine at the previous look

	placed  time.Time // time of the previous check of addresses
	looked  time.Time // time of the previous health look
	version uint64    // version of the health table then

	// Results of the previous health look; turn grows with each one that found a change.
	mark   statesMark
	turn   uint64
	health event.Backends
	farms  event.Farms
	kept   uint64    // changes of farms that are stored
	unkept bool      // they could not be stored, which has been logged
	keptAt time.Time // of the last attempt to store them

	limits event.Limits // at the previous look
}

// unreachable explains why clients cannot reach a running farm, "" if they can.
func (w *watch) unreachable(f *farm.Farm) string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.absent[f.ID]
}

// run looks periodically until ctx ends.
func (w *watch) run(ctx context.Context, m *manager) {
	look, quick := time.NewTicker(watchLook), time.NewTimer(healthLook)
	defer look.Stop()
	defer quick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-quick.C:
			quick.Reset(w.lookSoon(m, time.Now()))
		case <-look.C:
			w.look(ctx, m)
		}
	}
}

// look checks everything once.
func (w *watch) look(ctx context.Context, m *manager) {
	cfg, _ := m.applier.Current()
	w.engineEvents(m, m.engineStarted())
	w.answers(cfg, m)
	w.limitEvents(cfg, m, time.Now())
	m.guardian.LookLoads()
	m.guardian.Reconcile()
	m.kernel.moved(cfg) // so that new warnings are seen
	w.lookHealth(m, time.Now())
	if cfg != w.seen || w.looks%firewallLooks == 0 {
		w.firewalls(ctx, cfg, m.kernel.netd.InputDropped)
		w.seen = cfg
	}
	w.looks++
}

// lookSoon checks addresses and health if that is due, or if names follow a change. It
// returns the time until the next call.
func (w *watch) lookSoon(m *manager, now time.Time) (next time.Duration) {
	if now.Sub(w.placed) >= addressLook {
		w.placed = now
		cfg, _ := m.applier.Current()
		if all, err := addr.List(); err == nil {
			w.addresses(cfg, all)
		}
	}
	version := m.health.Version()
	switch {
	case now.Sub(w.looked) >= healthLook:
		w.lookHealth(m, now)
		w.looked = now
	case version != w.version:
		m.lookFarms()
	}
	w.version = version // read before the look, so that later changes are seen next time
	if m.guardian.Follows() {
		return followLook
	}
	return healthLook
}

// lookHealth reports all backends and farms that went down or came up.
func (w *watch) lookHealth(m *manager, now time.Time) {
	m.lookFarms()
	cfg, _ := m.applier.Current()
	if mark := m.statesMark(); mark != w.mark || w.turn == 0 {
		w.mark = mark
		w.turn++
	}
	if m.isInForce() {
		m.lookStates(cfg, w.mark, now)
		known := m.known()
		for _, e := range append(w.farms.Look(cfg, w.turn, known.Known, now), w.health.Look(cfg, w.turn, known.Known, now)...) {
			m.tell(e)
		}
		w.keepFarms(m, now)
		m.notify.LookBackends(cfg, w.turn, known)
	}
	m.notify.LookCertificates(func() []notify.Certificate { return m.expiring(cfg) })
}

// addresses finds the engine farms whose address is missing on this machine.
func (w *watch) addresses(cfg *farm.Config, all []addr.Local) {
	now, reached := map[uint32]string{}, map[netip.Addr]error{}
	for i := range cfg.Farms {
		f := &cfg.Farms[i]
		if f.Stopped || f.InKernel() {
			continue
		}
		vip := f.VIP.Unmap()
		err, known := reached[vip]
		if !known {
			err = addr.Reached(all, vip)
			reached[vip] = err
		}
		if err != nil {
			now[f.ID] = err.Error()
		}
	}
	w.mu.Lock()
	before := w.absent
	w.absent = now
	w.mu.Unlock()
	if maps.Equal(before, now) {
		return
	}
	w.moved.Add(1)
	for i := range cfg.Farms {
		f := &cfg.Farms[i]
		switch is, was := now[f.ID], before[f.ID]; {
		case is != "" && is != was:
			slog.Warn("clients cannot reach the farm", "farm", f.Name, "reason", is)
		case is == "" && was != "" && !f.Stopped:
			slog.Info("clients can reach the farm again", "farm", f.Name, "vip", f.VIP)
		}
	}
}

// answers finds the backends of engine farms that accept requests or connections without
// responding. For relayed connections any byte counts as a response, and so does the end.
func (w *watch) answers(cfg *farm.Config, m *manager) {
	there := map[uint32]bool{}
	for i := range cfg.Farms {
		if cfg.Farms[i].InKernel() {
			continue
		}
		for _, g := range cfg.Farms[i].Groups() {
			for _, b := range g.Backends() {
				there[b.ID] = true
				sum := m.counters.SumBackend(b.ID)
				responses := sum.Ends
				if g.Service == nil {
					responses += sum.BytesIn
				}
				for _, n := range sum.Responses {
					responses += n
				}
				silent, changed := w.silent.Look(b.ID, responses, sum.Timeouts+sum.Abandoned)
				switch {
				case changed && silent:
					slog.Warn("backend accepts connections and does not answer", "farm", g.Farm.Name, "service", g.Name(), "backend", b.AddrPort())
				case changed:
					slog.Info("backend answers again", "farm", g.Farm.Name, "service", g.Name(), "backend", b.AddrPort())
				}
			}
		}
	}
	w.silent.Retain(func(id uint32) bool { return there[id] })
}
