package host

import (
	"context"
	"errors"
	"log/slog"
	"net/netip"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/sysnet/addr"
	"github.com/sluicelb/sluice/sysnet/announce"
	"github.com/sluicelb/sluice/sysnet/ctl"
	"github.com/sluicelb/sluice/sysnet/firewall"
	"github.com/sluicelb/sluice/sysnet/route"
	"github.com/sluicelb/sluice/sysnet/sysctl"
)

// again is how often Run looks whether all is as it was left, settlePause how often it
// looks at sysctls: another instance on this machine gives back those it needs no
// more.
const (
	again       = 15 * time.Second
	settlePause = 200 * time.Millisecond
)

// KernelFarms are the farms the packet filter carries.
type KernelFarms interface {
	// Objects lists what of it is in the kernel, Clean removes that.
	Objects(ctx context.Context) ([]ctl.KernelObject, error)
	Clean(ctx context.Context) error
	// Flushing is told whose connections are ended next: what is left of them is
	// refused then.
	Flushing(ctx context.Context, meant func(backend uint32) bool)
}

// Host looks after the machine. Make one with New. Any goroutine may call its
// methods.
type Host struct {
	log       *slog.Logger
	sysctl    *sysctl.Values
	firewall  firewall.Firewall
	announcer *announce.Announcer

	mu       sync.Mutex
	need     need
	told     bool // by Prepare, since start or clean
	warnings []firewall.Warning
}

// New returns a host that needs nothing yet and has touched nothing. journal is
// where old values of sysctls are kept (see package sysctl); one that cannot be
// used, or none, is a warning in the log, and old values are lost with the
// process.
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

// Close ends what goes on in the background; what was set stays.
func (h *Host) Close() { h.announcer.Close() }

// Prepare makes the machine fit for the farms, which all run and are carried by
// the kernel, and takes back what no farm needs. problems are farms whose
// address this machine does not have, by ID. What may keep packets from passing
// otherwise (sysctls, firewalls of others) goes to the log and into Objects: it
// may concern some packets only.
func (h *Host) Prepare(_ context.Context, farms []farm.Farm) (problems map[uint32]string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	// Rules change often, what they need of the machine rarely; Run looks after
	// the rest.
	if n := needOf(farms); !h.told || !n.equal(h.need) {
		h.need, h.told = n, true
		h.prepare()
	}
	return absent(farms)
}

// absent are the farms whose address this machine does not have.
func absent(farms []farm.Farm) map[uint32]string {
	if len(farms) == 0 {
		return nil
	}
	locals, err := addr.List()
	if err != nil {
		return nil // nobody knows
	}
	problems := map[uint32]string{}
	for i := range farms {
		if farms[i].InUserspace() {
			continue // it cannot listen then, and is told why
		}
		if _, err := addr.Find(locals, farms[i].VIP.Unmap()); err != nil {
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
	h.announcer.Keep(n.addresses)
	for _, w := range warnings {
		if !slices.ContainsFunc(h.warnings, func(old firewall.Warning) bool { return old.Text == w.Text }) {
			h.log.Warn("packets of farms may not pass", "reason", w.Text)
		}
	}
	h.warnings = warnings
}

// Warnings are what may keep packets of this farm from passing. Those of dsr
// meet none of it.
func (h *Host) Warnings(f *farm.Farm) (out []string) {
	packets := packetsOf(f)
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, w := range h.warnings {
		if slices.ContainsFunc(w.Packets, func(p firewall.Packets) bool { return slices.Contains(packets, p) }) {
			out = append(out, w.Text)
		}
	}
	return out
}

// Heard is told of addresses that are listened on here, and when they are not
// any more, for ctl.Serve: those are announced too.
func (h *Host) Heard(at netip.AddrPort, open bool) {
	if open {
		h.announcer.Add(at.Addr())
	} else {
		h.announcer.Drop(at.Addr())
	}
}

// Run sets right what others changed until ctx ends.
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

// settle makes the sysctls farms need hold. What fails is told by prepare.
func (h *Host) settle() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.told && h.need.forwards() {
		_ = h.sysctl.Keep(h.need.settings())
	}
}
