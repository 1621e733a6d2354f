package eventlog

import (
	"fmt"
	"net"
	"strconv"
	"time"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/mgmt/farmstate"
)

// mostChanges is how many changes of one backend are stored in an hour: a backend that
// flaps must not displace all other events.
const mostChanges = 30

// Known returns the current states of farms and backends.
type Known struct {
	// Backend returns the status of the backend at a position. Why returns why it is down,
	// "" if unknown, and Since the time of its last health change.
	Backend func(g farm.Group, position int) farm.Status
	Why     func(backend uint32) string
	Since   func(backend uint32) time.Time
	// Farm returns the status of a farm, and why it is not up.
	Farm func(*farm.Farm) (farm.Status, string)
}

// States finds status changes. The zero value is ready for the first Look, or for Resume.
type States struct {
	cfg      *farm.Config
	mark     any
	last     time.Time
	backends map[uint32]bool   // whether it is down; undefined is not
	earlier  farmstate.Earlier // until the first Look after Resume
	farms    map[uint32]farm.Status
	often    map[uint32]*often // of those that changed
}

// often counts the changes of a backend in an hour.
type often struct {
	begun time.Time
	n     int
}

// Resume sets the health before a restart. The first Look then returns the changes since, and
// only records the states of backends whose earlier health is unknown.
func (s *States) Resume(earlier farmstate.Earlier) { s.backends, s.earlier = earlier.Down(), earlier }

// Look returns the changes since the last call; the first call only records the states.
// mark changes with Known. While neither it nor cfg changes, a call costs nothing; if only cfg
// does, changed farms are looked at.
func (s *States) Look(cfg *farm.Config, mark any, now time.Time, known Known) (list []Event) {
	scope, first := farmstate.Whole(cfg), s.backends == nil
	if !first && mark == s.mark {
		if cfg == s.cfg {
			s.last = now
			return nil
		}
		scope = farmstate.Changed(s.cfg, cfg)
	}
	var farms map[uint32]farm.Status
	var backends map[uint32]bool
	farms, s.farms = farmstate.OfFarms(&scope, s.farms)
	backends, s.backends = farmstate.OfBackends(&scope, s.backends)
	for i := range scope.Farms {
		f := &scope.Farms[i]
		for _, g := range f.Groups() {
			for k := range g.Backends() {
				list = s.backend(list, g, k, now, known, backends, first)
			}
		}
		status, why := known.Farm(f)
		s.farms[f.ID] = status
		if was, had := farms[f.ID]; had && was != status {
			list = append(list, ofFarm(f, status, why, now))
		}
	}
	if first {
		list = nil
	}
	for id := range s.often {
		if _, there := s.backends[id]; !there {
			delete(s.often, id)
		}
	}
	s.cfg, s.mark, s.last, s.earlier = cfg, mark, now, nil
	return list
}

// backend adds the change of a backend. A backend that is not in use, or in maintenance,
// keeps its state.
func (s *States) backend(list []Event, g farm.Group, position int, now time.Time, known Known, before map[uint32]bool, first bool) []Event {
	b := &g.Backends()[position]
	was, had := before[b.ID]
	if s.backends[b.ID] = was; g.Farm.Stopped || g.Redirects() || b.Left {
		return list
	}
	status := known.Backend(g, position)
	is := status == farm.StatusDown
	if status == farm.StatusMaintenance || is == was {
		return list
	}
	if s.backends[b.ID] = is; first || !had && !is || s.earlier.IsUnknown(b.ID) {
		return list
	}
	n := s.count(b.ID, now)
	if n > mostChanges {
		return list
	}
	e := About(g, position, Health)
	e.Time, e.Severity, e.Text = now, Info, "is up again"
	if is {
		e.Severity, e.Text = Warning, "is down"
		if why := known.Why(b.ID); why != "" {
			e.Text += ": it " + why
		}
	}
	if since := known.Since(b.ID); since.After(s.last) && since.Before(now) {
		e.Time = since
	}
	if n == mostChanges {
		e.Text += fmt.Sprintf("; it changed %d times within an hour: what follows in this time is not kept", n)
	}
	return append(list, e)
}

func (s *States) count(backend uint32, now time.Time) int {
	if s.often == nil {
		s.often = map[uint32]*often{}
	}
	o := s.often[backend]
	if o == nil || now.Sub(o.begun) >= time.Hour || now.Before(o.begun) {
		o = &often{begun: now}
		s.often[backend] = o
	}
	o.n++
	return o.n
}

// ofFarm returns the event of a farm with another status.
func ofFarm(f *farm.Farm, status farm.Status, why string, now time.Time) Event {
	e := Event{Time: now, Kind: Health, Severity: Warning, Farms: []uint32{f.ID}, Farm: f.Name, Text: "the farm " + becomes(status)}
	switch {
	case status == farm.StatusUp, status == farm.StatusMaintenance, f.Stopped:
		e.Severity = Info
	case status == farm.StatusDown, status == farm.StatusCritical:
		e.Severity = Error
	}
	if why != "" {
		e.Text += ": " + why
	}
	return e
}

// becomes returns what a farm with a new status is or has.
func becomes(status farm.Status) string {
	switch status {
	case farm.StatusMaintenance:
		return "is in maintenance"
	case farm.StatusProblem:
		return "has a problem"
	case farm.StatusNeededRestart:
		return "needs a restart"
	}
	return "is " + string(status)
}

// About returns an event of a kind about the backend at a position.
func About(g farm.Group, position int, kind Kind) Event {
	b := &g.Backends()[position]
	address := b.ShownAddress()
	if b.Port != 0 {
		address = net.JoinHostPort(address, strconv.Itoa(int(b.Port)))
	}
	e := Event{Kind: kind, Severity: Info, Farms: []uint32{g.Farm.ID}, Farm: g.Farm.Name, Backend: fmt.Sprintf("%d (%s)", g.Number(position), address)}
	if g.OfService() {
		e.Service = g.Name()
	}
	return e
}
