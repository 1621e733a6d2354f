package event

import (
	"strconv"
	"time"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/mgmt/farmstate"
)

// Known tells how backends and farms are now.
type Known struct {
	Health farmstate.Health
	// Why says why a backend is down, "" where nothing is known; nil: nothing is.
	Why farmstate.Told
	// Farm is the status of a farm, and why it is not up.
	Farm func(*farm.Farm) (farm.Status, string)
}

// Backends finds out whose health changed. The zero value has looked at nothing.
type Backends struct {
	cfg     *farm.Config
	version uint64
	down    map[uint32]bool
}

// Look returns what changed since the last look; the first one only remembers. The
// version grows with all that is known: a look at what is the same costs nothing.
func (b *Backends) Look(cfg *farm.Config, version uint64, known Known, at time.Time) []Event {
	if cfg == b.cfg && version == b.version {
		return nil
	}
	before := b.down
	b.cfg, b.version, b.down = cfg, version, make(map[uint32]bool, len(before))
	var events []Event
	for i := range cfg.Farms {
		for _, g := range cfg.Farms[i].Groups() {
			for k := range g.Backends() {
				id := g.Backends()[k].ID
				was := before[id]
				down, is := BackendIsDown(g, k, known.Health)
				if !is {
					down = was // what was told of it stays
				}
				b.down[id] = down
				if down != was && before != nil {
					events = append(events, OfBackend(g, k, down, known.why(id), at))
				}
			}
		}
	}
	return events
}

func (k *Known) why(backend uint32) string {
	if k.Why == nil {
		return ""
	}
	return k.Why(backend)
}

// BackendIsDown is whether the backend at a position is down; is is false while that
// means nothing: its farm does not run, it is in maintenance, it has no clients, or it
// stands for others.
func BackendIsDown(g farm.Group, position int, health farmstate.Health) (down, is bool) {
	b := &g.Backends()[position]
	if g.Farm.Stopped || g.Redirects() || b.Left || b.Spreads() && len(g.Parts(b.ID)) > 0 {
		return false, false
	}
	status := farmstate.Backend(b, health)
	return status == farm.StatusDown, status != farm.StatusMaintenance
}

// OfBackend is the event of a backend that went down, or is up again. why says more, of
// "it": "refused three connects".
func OfBackend(g farm.Group, position int, down bool, why string, at time.Time) Event {
	kind, severity, status := BackendUp, Info, farm.StatusUp
	if down {
		kind, severity, status = BackendDown, Warning, farm.StatusDown
	}
	facts := append(AboutBackend(g, position), fact("STATUS", status))
	if down && why != "" {
		facts = append(facts, fact("REASON", "it "+why))
	}
	return Event{kind, severity, at, facts}
}

// AboutBackend is what is known of the backend at a position, and of its farm.
func AboutBackend(g farm.Group, position int) []string {
	b := &g.Backends()[position]
	service := ""
	if g.OfService() {
		service = g.Name()
	}
	host := b.ShownAddress()
	if host == "" {
		host = address(b)
	}
	return append(AboutFarm(g.Farm), fact("SERVICE", service), fact("BACKEND", host), fact("BACKEND_IP", address(b)), fact("BACKEND_PORT", strconv.Itoa(int(b.Port))), fact("NUMBER", g.Number(position)))
}

// address is where a backend is, empty while its name leads nowhere.
func address(b *farm.Backend) string {
	if !b.Addr.IsValid() {
		return ""
	}
	return b.Addr.String()
}
