package notify

import (
	"fmt"
	"net"
	"strconv"
	"time"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/mgmt/event"
	"github.com/sluicelb/sluice/mgmt/farmstate"
)

// backends remembers what was told of each, and what is to be.
type backends struct {
	cfg     *farm.Config
	version uint64
	known   map[uint32]*backendState
	settles bool // some state has not lasted long enough yet
}

// backendState is what was told of a backend, and what it is since when if that differs.
type backendState struct {
	down    bool
	differs bool
	since   time.Time
	flaps   flaps
}

// LookBackends finds out which backends went down or came up, by their status and by
// what is told about it, and sends what is due. The first look only remembers. It costs
// nothing while neither configuration nor the version of the health table changes.
func (m *Manager) LookBackends(cfg *farm.Config, version uint64, health farmstate.Health, told farmstate.Told) {
	b, now := &m.backends, m.options.Now()
	if cfg != b.cfg || version != b.version || b.settles {
		b.cfg, b.version = cfg, version
		m.lookAll(cfg, health, told, now)
	}
	m.sendDigests(now)
}

func (m *Manager) lookAll(cfg *farm.Config, health farmstate.Health, told farmstate.Told, now time.Time) {
	b := &m.backends
	lasts := time.Duration(m.Settings().Backends.Seconds()) * time.Second
	before := b.known
	b.known, b.settles = map[uint32]*backendState{}, false
	for i := range cfg.Farms {
		f := &cfg.Farms[i]
		for _, g := range f.Groups() {
			list := g.Backends()
			for k := range list {
				one := &list[k]
				state := before[one.ID]
				if state == nil {
					state = &backendState{}
				}
				b.known[one.ID] = state
				down, is := stateOf(f, g, k, health)
				switch {
				case is && state.flaps.muted:
					if !state.flaps.settled(down, now) {
						b.settles = true
						break
					}
					state.down, state.differs = down, false
					m.tell(happening(g, k, down, state.flaps.since, told(one.ID)), now)
				case !is: // nobody's business now: what was told of it stays
					state.differs = false
				case before == nil:
					state.down = down
				case down == state.down:
					state.differs = false
				case !state.differs && lasts > 0:
					state.differs, state.since, b.settles = true, now, true
				case lasts > 0 && now.Sub(state.since) < lasts:
					b.settles = true
				default:
					if !state.differs {
						state.since = now
					}
					state.down, state.differs = down, false
					h := happening(g, k, down, state.since, told(one.ID))
					if state.flaps.turned(down, now) {
						b.settles = true
						h = flapping(h)
					}
					m.tell(h, now)
				}
			}
		}
	}
}

// stateOf is whether a backend is down; is is false while that means nothing: its farm
// does not run, it is in maintenance, it has no clients, or it stands for others.
func stateOf(f *farm.Farm, g farm.Group, position int, health farmstate.Health) (down, is bool) {
	b := &g.Backends()[position]
	if f.Stopped || g.Redirects() || b.Left || b.Spreads() && len(g.Parts(b.ID)) > 0 {
		return false, false
	}
	status := farmstate.Backend(b, health)
	return status == farm.StatusDown, status != farm.StatusMaintenance
}

// happening is an event: what happened, and when its state began.
func happening(g farm.Group, position int, down bool, at time.Time, why string) Happening {
	b := &g.Backends()[position]
	address := b.ShownAddress()
	if b.Port != 0 {
		address = net.JoinHostPort(address, strconv.Itoa(int(b.Port)))
	}
	name := fmt.Sprintf("backend %d (%s)", g.Number(position), address)
	h := Happening{Kind: event.BackendUp, Severity: event.Info, Time: at, Farm: g.Farm.Name, Backend: address}
	if g.OfService() {
		h.Service = g.Name()
		name += " of service " + h.Service
	}
	name += " of farm " + h.Farm
	if !down {
		h.Text = name + " is up again"
		return h
	}
	h.Kind, h.Severity, h.Text, h.why = event.BackendDown, event.Warning, name+" is down", why
	return h
}
