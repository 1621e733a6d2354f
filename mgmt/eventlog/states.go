package eventlog

import (
	"fmt"
	"maps"
	"net"
	"slices"
	"strconv"
	"time"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/mgmt/farmstate"
)

// mostChanges is how many changes of one backend or farm are stored in an hour: one that
// flaps must not displace all other events.
const mostChanges = 30

// Known returns the current states of farms and backends.
type Known struct {
	// Backend returns the status of the backend at a position. Why returns why it is down,
	// "" if unknown, and Since the time of its last health change.
	Backend func(g farm.Group, position int) farm.Status
	Why     func(backend uint32) string
	Since   func(backend uint32) time.Time
	// Awaits reports whether the health of the backend at a position will soon be known; nil:
	// never.
	Awaits func(g farm.Group, position int) bool
	// Farm returns the status of a farm, and why it is not up.
	Farm func(*farm.Farm) (farm.Status, string)
}

// States finds status changes. The zero value is ready for the first Look, or for Resume.
type States struct {
	cfg      *farm.Config
	mark     any
	last     time.Time
	backends map[uint32]bool   // whether it is down; undefined is not
	earlier  farmstate.Earlier // backends of unknown health before the restart
	farms    map[uint32]farm.Status
	resumed  bool // the next Look is the first one after Resume
	often    often
	oftenOf  often // farms
}

// often counts the changes of backends or farms, by ID.
type often map[uint32]*count

// count counts the changes in an hour.
type count struct {
	begun time.Time
	n     int
}

// Resume sets the health of backends and the statuses of farms before a restart, by ID. The
// first Look then returns the changes since. The state of a backend whose earlier health is
// unknown is only recorded when it is known. A farm whose earlier status is unknown only has
// an event if it serves no clients. Stopped farms and farms without targets have none.
func (s *States) Resume(earlier farmstate.Earlier, farms map[uint32]farm.Status) {
	s.backends, s.earlier, s.resumed = earlier.Down(), earlier.Unknown(), true
	s.farms = map[uint32]farm.Status{}
	maps.Copy(s.farms, farms)
}

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
		list = s.farm(list, f, now, known, farms)
	}
	if first {
		list = nil
	}
	retain(s.often, s.backends)
	retain(s.oftenOf, s.farms)
	s.cfg, s.mark, s.last, s.resumed = cfg, mark, now, false
	return list
}

// retain removes the counts of those that no longer exist.
func retain[V any](o often, there map[uint32]V) {
	for id := range o {
		if _, is := there[id]; !is {
			delete(o, id)
		}
	}
}

// farm adds the change of a farm.
func (s *States) farm(
	list []Event, f *farm.Farm, now time.Time, known Known, before map[uint32]farm.Status,
) []Event {
	status, why := known.Farm(f)
	was, had := before[f.ID]
	s.farms[f.ID] = status
	switch {
	case had && was == status, s.resumed && (f.Stopped || !farmstate.HasTargets(f)):
		return list
	case !had && (!s.resumed || severityOf(status) != Error):
		return list
	case s.resumed && status == farm.StatusNeededRestart,
		!f.Stopped && rank(status) < rank(was) && known.awaitsAny(f):
		s.farms[f.ID] = was // the status is about to change
		return list
	}
	if s.oftenOf == nil {
		s.oftenOf = often{}
	}
	n := s.oftenOf.count(f.ID, now)
	if n > mostChanges {
		return list
	}
	e := ofFarm(f, status, why, now)
	e.Text += suffix(n)
	return append(list, e)
}

// awaitsAny reports whether the health of some backend of a farm will soon be known.
func (k *Known) awaitsAny(f *farm.Farm) bool {
	for _, g := range f.Groups() {
		for i := range g.Backends() {
			if k.awaits(g, i) {
				return true
			}
		}
	}
	return false
}

func (k *Known) awaits(g farm.Group, position int) bool {
	return k.Awaits != nil && k.Awaits(g, position)
}

// suffix returns the end of the text of the last change that is stored in an hour.
func suffix(n int) string {
	if n < mostChanges {
		return ""
	}
	return fmt.Sprintf("; it changed %d times within an hour: what follows in this time is not kept", n)
}

// backend adds the change of a backend. A backend that is not in use, or in maintenance,
// keeps its state.
func (s *States) backend(list []Event, g farm.Group, position int, now time.Time, known Known, before map[uint32]bool, first bool) []Event {
	b := &g.Backends()[position]
	was, had := before[b.ID]
	s.backends[b.ID] = was
	awaited, unknown := known.awaits(g, position), s.earlier.IsUnknown(b.ID)
	if !awaited {
		delete(s.earlier, b.ID)
	}
	if awaited || g.Farm.Stopped || g.Redirects() || b.Left {
		return list
	}
	status := known.Backend(g, position)
	is := status == farm.StatusDown
	if status == farm.StatusMaintenance || is == was {
		return list
	}
	if s.backends[b.ID] = is; first || !had && !is || unknown {
		return list
	}
	if s.often == nil {
		s.often = often{}
	}
	n := s.often.count(b.ID, now)
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
	e.Text += suffix(n)
	return append(list, e)
}

// count returns how often one has changed in this hour, with this change.
func (o often) count(id uint32, now time.Time) int {
	c := o[id]
	if c == nil || now.Sub(c.begun) >= time.Hour || now.Before(c.begun) {
		c = &count{begun: now}
		o[id] = c
	}
	c.n++
	return c.n
}

// ofFarm returns the event of a farm with another status.
func ofFarm(f *farm.Farm, status farm.Status, why string, now time.Time) Event {
	e := Event{
		Time: now, Kind: Health, Severity: severityOf(status), Farms: []uint32{f.ID}, Farm: f.Name,
		Text: "the farm " + becomes(status),
	}
	if f.Stopped {
		e.Severity = Info
	}
	if why != "" {
		e.Text += ": " + why
	}
	return e
}

func severityOf(status farm.Status) Severity {
	switch status {
	case farm.StatusUp, farm.StatusMaintenance:
		return Info
	case farm.StatusDown, farm.StatusCritical:
		return Error
	}
	return Warning
}

func rank(status farm.Status) int {
	return slices.Index([]Severity{Info, Warning, Error}, severityOf(status))
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
