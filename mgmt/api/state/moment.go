package state

import (
	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/mgmt/api/rest"
	"github.com/sluicelb/sluice/mgmt/apply"
	"github.com/sluicelb/sluice/mgmt/farmstate"
)

// Moment is a snapshot of a board for lists. Data common to all farms is read once.
type Moment struct {
	board             *Board
	c                 *rest.Call // nil: the texts name every farm
	connected         bool
	standing          apply.Standing
	problems, refused map[uint32]string
}

// Now reads the data common to all farms. The texts of the moment are for one call: they do
// not name farms hidden from its caller. Without a call they name every farm, and the reader
// must pass them through Call.Discreet before showing them.
func (s *Board) Now(c *rest.Call) *Moment {
	d := &s.deps
	m := &Moment{board: s, c: c, connected: d.Engine().Connected, standing: d.Applier.Standing()}
	m.problems, m.refused = d.Applier.Problems(), d.Applier.RefusedStarts() // at least as new as the standing
	return m
}

// Mark is comparable. While it is equal, the state of the farms is unchanged.
type Mark struct {
	cfg       *farm.Config
	connected bool
	standing  apply.Standing
	moved     uint64
}

// Marked is Now with the mark of that moment, for a list of the farms of the call. It returns
// false if changes cannot be detected. The mark is taken before the data of the moment.
func (s *Board) Marked(c *rest.Call) (*Moment, Mark, bool) {
	var moved uint64
	known := false
	if s.deps.Moved != nil {
		moved, known = s.deps.Moved(c.Config)
	}
	m := s.Now(c)
	return m, Mark{c.Config, m.connected, m.standing, moved}, known
}

// serving reports how the engine serves a farm.
func (m *Moment) serving(f *farm.Farm) farmstate.Serving {
	switch {
	case f.Stopped:
		return farmstate.Stopped(m.refused[f.ID])
	case !f.InKernel() && !m.connected: // kernel rules work without the engine
		return farmstate.Serving{Problem: "the engine is not running"}
	}
	if problem := m.problems[f.ID]; problem != "" {
		return farmstate.Serving{Problem: problem}
	}
	if problem := m.board.deps.Unreachable(f); problem != "" {
		return farmstate.Serving{Problem: problem}
	}
	return farmstate.Serving{Running: true, Stale: !m.standing.InSync(), Warnings: m.board.warnings(f)}
}

// Look returns the status of a farm and the reason why it is not up.
func (m *Moment) Look(f *farm.Farm) (farm.Status, string) {
	status, problem := farmstate.Look(f, m.board.deps.Health, m.board.told, m.serving(f))
	return status, discreet(m.c, problem)
}

// discreet removes the names of farms hidden from the caller from a text. The problem of one
// farm may name another, e.g. the owner of its port.
func discreet(c *rest.Call, text string) string {
	if c == nil {
		return text
	}
	return c.Discreet(text)
}

// Line describes a farm in the list.
func (m *Moment) Line(f *farm.Farm) FarmLine {
	status, problem := m.Look(f)
	return FarmLine{FarmItem: m.item(f, status), Problem: problem}
}

// Item describes a farm briefly.
func (m *Moment) Item(f *farm.Farm) FarmItem {
	status, _ := m.Look(f)
	return m.item(f, status)
}
