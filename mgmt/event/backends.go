package event

import (
	"strconv"
	"time"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/mgmt/farmstate"
)

// Known returns the current states of backends and farms.
type Known struct {
	Health farmstate.Health
	// Awaits reports whether the health of a backend will soon be known.
	Awaits farmstate.Awaits
	// Why returns why a backend is down, "" if unknown; nil: always unknown.
	Why farmstate.Told
	// Farm returns the status of a farm, and why it is not up.
	Farm func(*farm.Farm) (farm.Status, string)
}

// Backends finds backends whose health changed. The zero value is ready for the first Look, or
// for Resume.
type Backends struct {
	cfg     *farm.Config
	version uint64
	down    map[uint32]bool
	earlier farmstate.Earlier // backends of unknown health before the restart
}

// Resume sets the health before a restart. The first Look then returns the changes since. The
// state of a backend whose earlier health is unknown is only recorded when it is known.
func (b *Backends) Resume(earlier farmstate.Earlier) {
	b.down, b.earlier = earlier.Down(), earlier.Unknown()
}

// Look returns the changes since the last call; the first call only records the states. The
// version grows with every change of Known, so a call without a change costs nothing, and
// after a change of the configuration alone only changed farms are looked at.
func (b *Backends) Look(cfg *farm.Config, version uint64, known Known, at time.Time) []Event {
	if cfg == b.cfg && version == b.version {
		return nil
	}
	scope, first := farmstate.Whole(cfg), b.down == nil
	if !first && version == b.version {
		scope = farmstate.Changed(b.cfg, cfg)
	}
	b.cfg, b.version = cfg, version
	var before map[uint32]bool
	before, b.down = farmstate.OfBackends(&scope, b.down)
	var events []Event
	for i := range scope.Farms {
		for _, g := range scope.Farms[i].Groups() {
			for k := range g.Backends() {
				id := g.Backends()[k].ID
				was := before[id]
				down, is := BackendIsDown(g, k, known)
				if !is {
					down = was // the reported state stays
				}
				b.down[id] = down
				if down != was && !first && !b.earlier.IsUnknown(id) {
					events = append(events, OfBackend(g, k, down, known.why(id), at))
				}
				if len(b.earlier) > 0 && !known.Awaits.Of(g, k, known.Health) {
					delete(b.earlier, id)
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

// BackendIsDown reports whether the backend at a position is down. The second result is false
// while the state is irrelevant: the farm is stopped, or the backend is in maintenance, has
// no clients, or represents others. It is also false while a check has no result yet: a
// backend that was down is not reported as up before it is. A backend that represents others
// was down before its name had addresses, and is up again when one of them is usable.
func BackendIsDown(g farm.Group, position int, known Known) (down, is bool) {
	b := &g.Backends()[position]
	if g.Farm.Stopped || g.Redirects() || b.Left {
		return false, false
	}
	if b.Spreads() && len(g.Parts(b.ID)) > 0 {
		status := farmstate.In(g, position, known.Health)
		usable := status == farm.StatusUp || status == farm.StatusUndefined
		return false, usable && !known.Awaits.Of(g, position, known.Health)
	}
	status := farmstate.Backend(b, known.Health)
	return status == farm.StatusDown, status != farm.StatusMaintenance && !known.Awaits.Of(g, position, known.Health)
}

// OfBackend returns the event of a backend that went down, or is up again. why is the rest
// of a sentence that begins with "it", e.g. "refused three connects".
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

// AboutBackend returns the facts of the backend at a position, and of its farm.
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

// address returns the address of a backend, empty while its name is not resolved.
func address(b *farm.Backend) string {
	if !b.Addr.IsValid() {
		return ""
	}
	return b.Addr.String()
}
