package event

import (
	"maps"
	"time"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/mgmt/farmstate"
)

// Farms finds farms whose status changed. The zero value is ready for the first Look, or for
// Resume.
type Farms struct {
	cfg     *farm.Config
	version uint64
	status  map[uint32]farm.Status
	resumed bool // the next Look is the first one after Resume
	changes uint64
}

// Resume sets the statuses before a restart, by the ID of the farm. The first Look then returns
// the changes since. A farm whose earlier status is unknown is only reported if it serves no
// clients.
func (s *Farms) Resume(before map[uint32]farm.Status) {
	s.resumed, s.status = true, map[uint32]farm.Status{}
	maps.Copy(s.status, before)
}

// Reported returns the statuses that were reported or recorded last, for Resume. changes grows
// with every change of it.
func (s *Farms) Reported() (list map[uint32]farm.Status, changes uint64) { return s.status, s.changes }

// Look returns the changes since the last call; the first call only records the states. The
// version grows with every change of Known, so a call without a change costs nothing, and
// after a change of the configuration alone only changed farms are looked at.
func (s *Farms) Look(cfg *farm.Config, version uint64, known Known, at time.Time) []Event {
	if cfg == s.cfg && version == s.version {
		return nil
	}
	scope, first := farmstate.Whole(cfg), s.status == nil
	if !first && version == s.version {
		scope = farmstate.Changed(s.cfg, cfg)
	}
	s.cfg, s.version = cfg, version
	n := len(s.status)
	var before map[uint32]farm.Status
	before, s.status = farmstate.OfFarms(&scope, s.status)
	var events []Event
	for i := range scope.Farms {
		f := &scope.Farms[i]
		was, had := before[f.ID]
		if !had {
			was = farm.StatusUp
		}
		status, why, is := FarmStatusOf(f, was, known)
		if !is {
			if had {
				s.status[f.ID] = was // the reported state stays
			}
			continue
		}
		s.status[f.ID] = status
		if status != was || !had {
			s.changes++
		}
		if status != was && !first && (had || !s.resumed || SeverityOf(status) == Error) {
			events = append(events, OfFarm(f, status, was, why, at))
		}
	}
	if len(s.status) != n {
		s.changes++
	}
	s.resumed = false
	return events
}

// FarmStatusOf returns the status of a farm, and why it is not up. was is the status that was
// reported last. The last result is false while the status has no meaning: the farm was
// stopped, is being created, or is about to run with another configuration. It is also false
// if the farm seems to be better only because a check has no result yet.
func FarmStatusOf(f *farm.Farm, was farm.Status, known Known) (status farm.Status, why string, is bool) {
	if known.Farm == nil || f.Stopped || !farmstate.HasTargets(f) {
		return "", "", false
	}
	status, why = known.Farm(f)
	if _, is = statusWords[status]; !is {
		return status, why, false
	}
	better := SeverityOf(was).AtLeast(SeverityOf(status)) && SeverityOf(was) != SeverityOf(status)
	return status, why, !better || !known.Awaits.OfFarm(f, known.Health)
}

// SeverityOf returns the severity of a farm's status.
func SeverityOf(status farm.Status) Severity {
	switch status {
	case farm.StatusProblem:
		return Warning
	case farm.StatusCritical, farm.StatusDown:
		return Error
	}
	return Info
}

// OfFarm returns the event of a farm with a new status.
func OfFarm(f *farm.Farm, status, was farm.Status, why string, at time.Time) Event {
	facts := append(AboutFarm(f), fact("STATUS", status), fact("WAS", was))
	if why != "" {
		facts = append(facts, fact("REASON", why))
	}
	return Event{FarmStatus, SeverityOf(status), at, facts}
}
