package notify

import (
	"slices"
	"time"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/mgmt/event"
	"github.com/sluicelb/sluice/mgmt/farmstate"
)

// Known reports the current state of backends and farms. Since returns the time of the last
// change of a backend's health, and may be nil.
type Known struct {
	event.Known
	Since func(backend uint32) time.Time
}

// states records the reported and the unreported states of backends and farms.
type states struct {
	cfg      *farm.Config
	version  uint64
	last     time.Time // of the last look
	backends map[uint32]*state[bool]
	farms    map[uint32]*state[farm.Status]
	earlier  farmstate.Earlier // backends of unknown health before the restart
	resumed  bool              // the next look is the first one after Resume
	again    time.Time         // earliest time at which a pending state must be reported; zero: none pending
}

// toldFarms is the document of the reported statuses of farms, by ID.
const toldFarms = "notify.farms"

// Resume sets the health of backends before a restart, and reads the reported statuses of
// farms. The first LookBackends then reports the changes since. The state of a backend whose
// earlier health is unknown is only recorded when it is known. A farm whose earlier status is
// unknown is only reported if it serves no clients. Call Resume before LookBackends.
func (m *Manager) Resume(earlier farmstate.Earlier) {
	s := &m.states
	s.earlier, s.resumed = earlier.Unknown(), true
	s.backends, s.farms = map[uint32]*state[bool]{}, map[uint32]*state[farm.Status]{}
	for id, is := range earlier.Down() {
		s.backends[id] = &state[bool]{told: is}
	}
	var told map[uint32]farm.Status
	if _, err := m.options.Store.ReadDocument(toldFarms, &told); err != nil {
		m.options.Log.Warn("which statuses of farms were reported is not known", "error", err)
	}
	for id, status := range told {
		s.farms[id] = &state[farm.Status]{told: status}
	}
}

// keepFarms writes the reported statuses of farms for the next start.
func (m *Manager) keepFarms() {
	told := make(map[uint32]farm.Status, len(m.states.farms))
	for id, one := range m.states.farms {
		told[id] = one.told
	}
	if err := m.options.Store.WriteDocument(toldFarms, told); err != nil {
		m.options.Log.Warn("statuses of farms are not kept: they may be reported again after a restart", "error", err)
	}
}

// LookBackends detects backends and farms that went down or came up, and sends notifications
// that are due. The first call only records the state. The version grows with every change of
// known, so a call is cheap while it and the configuration are unchanged. If only the
// configuration changes, only changed farms are examined.
func (m *Manager) LookBackends(cfg *farm.Config, version uint64, known Known) {
	s, now := &m.states, m.options.Now()
	due := !s.again.IsZero() && (!now.Before(s.again) || now.Before(s.last)) // the clock may have been set back
	switch {
	case version != s.version || due || s.backends == nil || s.cfg == nil:
		s.again = time.Time{}
		m.lookIn(farmstate.Whole(cfg), known, now)
	case cfg != s.cfg:
		m.lookIn(farmstate.Changed(s.cfg, cfg), known, now)
	}
	s.cfg, s.version = cfg, version
	s.last, s.resumed = now, false
	m.sendDigests(now)
}

func (m *Manager) lookIn(scope farmstate.Scope, known Known, now time.Time) {
	s := &m.states
	l := look{known: known, firstBackends: s.backends == nil, firstFarms: s.farms == nil, lasts: time.Duration(m.Settings().Backends.Seconds()) * time.Second, last: s.last, now: now}
	farmsBefore, changed := len(s.farms), false
	var backends map[uint32]*state[bool]
	var farms map[uint32]*state[farm.Status]
	backends, s.backends = farmstate.OfBackends(&scope, s.backends)
	farms, s.farms = farmstate.OfFarms(&scope, s.farms)
	for i := range scope.Farms {
		f := &scope.Farms[i]
		var list []Happening
		since := now // the earliest change in it since the last look
		for _, g := range f.Groups() {
			for k := range g.Backends() {
				id := g.Backends()[k].ID
				one := stateOf(backends, id, false)
				s.backends[id] = one
				v := l.backend(g, k, one, s.earlier)
				if v.tell {
					list = append(list, v.happening(event.OfBackend(g, k, one.told, l.why(id), v.since)))
				}
				if one.since.After(l.last) && one.since.Before(since) {
					since = one.since
				}
				s.lookAgain(one.due(l.lasts))
			}
		}
		one, told := stateOf(farms, f.ID, farm.StatusUp), farms[f.ID] != nil
		s.farms[f.ID] = one
		was := one.told
		if h, tell := l.farm(f, one, since, s.resumed && !told); tell {
			m.tell(h, now)
		}
		changed = changed || one.told != was
		s.lookAgain(one.due(l.lasts))
		for _, h := range list { // after their farm
			m.tell(h, now)
		}
	}
	if changed || len(s.farms) != farmsBefore {
		m.keepFarms()
	}
}

// look is the state of one look.
type look struct {
	known Known
	// The first looks only record the state.
	firstBackends, firstFarms bool

	lasts     time.Duration // minimum duration of a state before it is reported
	last, now time.Time     // the previous and the current look
}

// farm looks at a farm. unknown: its status before a restart is not known.
func (l *look) farm(f *farm.Farm, one *state[farm.Status], since time.Time, unknown bool) (h Happening, tell bool) {
	was := one.told
	status, why, means := event.FarmStatusOf(f, was, l.known.Known)
	severity := event.SeverityOf(status)
	first := l.firstFarms || unknown && severity != event.Error
	v := one.look(status, slices.Index(event.Severities(), severity), means, since, l, first)
	if !v.tell {
		return h, false
	}
	return v.happening(event.OfFarm(f, status, was, why, v.since)), true
}

// backend looks at a backend. It removes the backend from earlier if its health is not awaited.
func (l *look) backend(g farm.Group, position int, one *state[bool], earlier farmstate.Earlier) verdict {
	id := g.Backends()[position].ID
	down, means := event.BackendIsDown(g, position, l.known.Known)
	first := l.firstBackends || earlier.IsUnknown(id)
	if len(earlier) > 0 && !l.known.Awaits.Of(g, position, l.known.Health) {
		delete(earlier, id)
	}
	since := l.now
	if l.known.Since != nil {
		if at := l.known.Since(id); at.After(l.last) && at.Before(l.now) {
			since = at
		}
	}
	bad := 0
	if down {
		bad = 1
	}
	return one.look(down, bad, means, since, l, first)
}

func (l *look) why(backend uint32) string {
	if l.known.Why == nil {
		return ""
	}
	return l.known.Why(backend)
}
