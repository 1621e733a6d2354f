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
	earlier  farmstate.Earlier // until the first look after Resume
	again    time.Time         // earliest time at which a pending state must be reported; zero: none pending
}

// Resume sets the health before a restart. The first LookBackends then reports the changes
// since, and only records the states of backends whose earlier health is unknown. Call Resume
// before it.
func (m *Manager) Resume(earlier farmstate.Earlier) {
	m.states.earlier = earlier
	m.states.backends = map[uint32]*state[bool]{}
	for id, is := range earlier.Down() {
		m.states.backends[id] = &state[bool]{told: is}
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
	case version != s.version || due || s.backends == nil:
		s.again = time.Time{}
		m.lookIn(farmstate.Whole(cfg), known, now)
	case cfg != s.cfg:
		m.lookIn(farmstate.Changed(s.cfg, cfg), known, now)
	}
	s.cfg, s.version = cfg, version
	s.last, s.earlier = now, nil
	m.sendDigests(now)
}

func (m *Manager) lookIn(scope farmstate.Scope, known Known, now time.Time) {
	s := &m.states
	l := look{known: known, firstBackends: s.backends == nil, firstFarms: s.farms == nil, lasts: time.Duration(m.Settings().Backends.Seconds()) * time.Second, last: s.last, now: now}
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
				v := l.backend(g, k, one, s.earlier.IsUnknown(id))
				if v.tell {
					list = append(list, v.happening(event.OfBackend(g, k, one.told, l.why(id), v.since)))
				}
				if one.since.After(l.last) && one.since.Before(since) {
					since = one.since
				}
				s.lookAgain(one.due(l.lasts))
			}
		}
		one := stateOf(farms, f.ID, farm.StatusUp)
		s.farms[f.ID] = one
		if h, tell := l.farm(f, one, since); tell {
			m.tell(h, now)
		}
		s.lookAgain(one.due(l.lasts))
		for _, h := range list { // after their farm
			m.tell(h, now)
		}
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

func (l *look) farm(f *farm.Farm, one *state[farm.Status], since time.Time) (h Happening, tell bool) {
	was := one.told
	status, why, means := event.FarmStatusOf(f, l.known.Known)
	v := one.look(status, slices.Index(event.Severities(), event.SeverityOf(status)), means, since, l, l.firstFarms)
	if !v.tell {
		return h, false
	}
	return v.happening(event.OfFarm(f, status, was, why, v.since)), true
}

func (l *look) backend(g farm.Group, position int, one *state[bool], first bool) verdict {
	down, means := event.BackendIsDown(g, position, l.known.Health)
	since := l.now
	if l.known.Since != nil {
		if at := l.known.Since(g.Backends()[position].ID); at.After(l.last) && at.Before(l.now) {
			since = at
		}
	}
	bad := 0
	if down {
		bad = 1
	}
	return one.look(down, bad, means, since, l, first || l.firstBackends)
}

func (l *look) why(backend uint32) string {
	if l.known.Why == nil {
		return ""
	}
	return l.known.Why(backend)
}
