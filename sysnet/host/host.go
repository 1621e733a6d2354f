package host

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"net/netip"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/sysnet/addr"
	"github.com/sluicelb/sluice/sysnet/announce"
	"github.com/sluicelb/sluice/sysnet/claim"
	"github.com/sluicelb/sluice/sysnet/ctl"
	"github.com/sluicelb/sluice/sysnet/firewall"
	"github.com/sluicelb/sluice/sysnet/route"
	"github.com/sluicelb/sluice/sysnet/sysctl"
)

// again is the interval at which Run restores the complete state. settlePause is that for
// sysctls, because another instance on this machine may revert those that it no longer
// needs. It also applies to foreign firewalls: a reload deletes our rules, and packets of farms
// are dropped. Examining them takes at most 1/settleShare of the time.
const (
	again       = 15 * time.Second
	settlePause = 200 * time.Millisecond
	settleShare = 20
)

// KernelFarms is the packet filter of the kernel farms.
type KernelFarms interface {
	// Objects lists its objects in the kernel; Clean removes them.
	Objects(ctx context.Context) ([]ctl.KernelObject, error)
	Clean(ctx context.Context) error
	// Flushing announces that the connections of the backends are about to be reset.
	// Their remaining packets are rejected afterwards.
	Flushing(ctx context.Context, meant func(backend uint32) bool)
}

// Host prepares the machine. Use New to make one. It is safe for concurrent use.
type Host struct {
	log       *slog.Logger
	sysctl    *sysctl.Values
	firewall  firewall.Firewall
	announcer *announce.Announcer

	mu       sync.Mutex
	rest     time.Time // until then foreign firewalls are not examined
	need     need
	told     bool // Prepare was called since the start or the last clean
	warnings []firewall.Warning
	// destinations is the result of the last Prepare, by farm. blocked holds by farm the rules of
	// foreign firewalls that drop packets to one of its backends; prepare evaluates them.
	destinations map[uint32][]firewall.Destination
	blocked      map[uint32][]string
	demands      farm.Memo[demand]
}

// New returns a Host without needs that has changed nothing. journal stores old values of
// sysctls (see package sysctl). Without a usable journal New logs a warning, and old
// values are lost with the process.
func New(journal *os.File, log *slog.Logger) *Host {
	k, err := sysctl.Open(journal)
	if journal == nil {
		err = errors.New("there is none")
	}
	if err != nil {
		log.Warn("values of sysctls from before a crash cannot be given back: their journal cannot be used", "error", err)
		if k == nil {
			k, _ = sysctl.Open(nil)
		}
	}
	return &Host{log: log, sysctl: k, announcer: announce.New(log)}
}

// Close stops background work. It reverts nothing.
func (h *Host) Close() { h.announcer.Close() }

// Prepare prepares the machine for farms and reverts changes that no farm needs. All of
// them must be running kernel farms, and must not be modified afterwards. The result holds, by ID, the farms whose address
// this machine does not have. Other obstacles (sysctls, foreign firewalls) go to the log
// and to Objects, because they may affect only some packets.
func (h *Host) Prepare(_ context.Context, farms []farm.Farm) (problems map[uint32]string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	// Rules change often, but their needs rarely do. Run repairs foreign changes.
	demands := h.demands.Of(farms, demandOf)
	to := destinationsOf(farms, demands)
	more := redirected(h.destinations, to)
	h.destinations = to
	maps.DeleteFunc(h.blocked, func(id uint32, _ []string) bool { _, filtered := to[id]; return !filtered })
	switch n := needOf(demands); {
	case !h.told || more || !n.same(h.need):
		h.need, h.told = n, true
		h.prepare()
	case !slices.Equal(n.addresses, h.need.addresses):
		h.need = n
		h.announcer.Keep(n.addresses)
	}
	return absent(farms, demands)
}

// redirected reports whether a farm is new or has other destinations: firewalls of others may
// drop packets to them.
func redirected(before, now map[uint32][]firewall.Destination) bool {
	for id, to := range now {
		if old, known := before[id]; !known || !slices.Equal(old, to) {
			return true
		}
	}
	return false
}

// absent returns the farms whose address this machine does not have.
func absent(farms []farm.Farm, demands []demand) map[uint32]string {
	if len(farms) == 0 {
		return nil
	}
	locals, err := addr.List()
	if err != nil {
		return nil // unknown
	}
	problems, found := map[uint32]string{}, map[netip.Addr]error{}
	for i := range farms {
		if demands[i].userspace {
			continue // its listener reports this error
		}
		vip := demands[i].vip
		err, known := found[vip]
		if !known {
			_, err = addr.Find(locals, vip)
			found[vip] = err
		}
		if err != nil {
			problems[farms[i].ID] = err.Error()
		}
	}
	return problems
}

func (h *Host) prepare() {
	n := h.need
	var warnings []firewall.Warning
	warn := func(text string) { warnings = append(warnings, firewall.Warning{Text: text, Packets: n.packets}) }
	if err := h.sysctl.Keep(n.settings()); err != nil {
		warn(err.Error())
	}
	if err := route.Keep(n.local4, n.local6); err != nil && (n.local4 || n.local6) {
		warn(err.Error())
	}
	refused, err := h.firewall.Keep(n.firewall())
	warnings = append(warnings, refused...)
	if err != nil && n.forwards() {
		warn("firewalls of others: " + err.Error())
	}
	if h.blocked, err = firewall.Blocked(h.destinations, claim.FirstMark, claim.MarkMask); err != nil {
		h.log.Debug("a firewall cannot be read", "reason", err)
	}
	h.announcer.Keep(n.addresses)
	for _, w := range warnings {
		if !slices.ContainsFunc(h.warnings, func(old firewall.Warning) bool { return old.Text == w.Text }) {
			h.log.Warn("packets of farms may not pass", "reason", w.Text)
		}
	}
	h.warnings = warnings
}

// Warnings returns the obstacles for packets of this farm. Farms with dsr have none,
// because their packets bypass the forwarding of the kernel.
func (h *Host) Warnings(f *farm.Farm) (out []string) {
	packets := packetsOf(f)
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, w := range h.warnings {
		if slices.ContainsFunc(w.Packets, func(p firewall.Packets) bool { return slices.Contains(packets, p) }) {
			out = append(out, w.Text)
		}
	}
	return append(out, h.blocked[f.ID]...)
}

// Heard records that an address is listened on, or no longer is, for ctl.Serve. Such
// addresses are announced too.
func (h *Host) Heard(at netip.AddrPort, open bool) {
	if open {
		h.announcer.Add(at.Addr())
	} else {
		h.announcer.Drop(at.Addr())
	}
}

// Run repairs foreign changes until ctx ends.
func (h *Host) Run(ctx context.Context) {
	tick, often := time.NewTicker(again), time.NewTicker(settlePause)
	defer tick.Stop()
	defer often.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-often.C:
			h.settle()
			continue
		case <-tick.C:
		}
		h.announcer.Again()
		h.mu.Lock()
		if h.told && (h.need.forwards() || h.need.local4 || h.need.local6) {
			h.prepare()
		}
		h.mu.Unlock()
	}
}

// settle restores the sysctls that farms need, and everything after a change of foreign
// firewalls or the loss of a routing rule, e.g. by a restart of systemd-networkd. prepare
// reports errors.
func (h *Host) settle() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.told {
		return
	}
	if h.need.forwards() {
		_ = h.sysctl.Keep(h.need.settings())
	}
	begin := time.Now()
	if begin.Before(h.rest) {
		return
	}
	if h.need.forwards() && h.firewall.Changed() || route.Lost(h.need.local4, h.need.local6) {
		h.prepare()
	}
	h.rest = time.Now().Add(settleShare * time.Since(begin))
}
