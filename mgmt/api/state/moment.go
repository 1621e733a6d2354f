package state

import (
	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/mgmt/apply"
	"github.com/sluicelb/sluice/mgmt/farmstate"
)

// Moment is a board at one moment, for lists: what is the same for all farms was
// asked once.
type Moment struct {
	board             *Board
	connected         bool
	standing          apply.Standing
	problems, refused map[uint32]string
}

// Now asks what is the same for all farms.
func (s *Board) Now() *Moment {
	d := &s.deps
	m := &Moment{board: s, connected: d.Engine().Connected, standing: d.Applier.Standing()}
	m.problems, m.refused = d.Applier.Problems(), d.Applier.RefusedStarts() // no older than the standing
	return m
}

// Mark is comparable: what is told of farms is the same while it is.
type Mark struct {
	cfg       *farm.Config
	connected bool
	standing  apply.Standing
	moved     uint64
}

// Marked is Now with the mark of that moment, for a list of farms of a configuration;
// false when nobody can tell how long it holds. The mark is older than all that the
// moment tells.
func (s *Board) Marked(cfg *farm.Config) (*Moment, Mark, bool) {
	var moved uint64
	known := false
	if s.deps.Moved != nil {
		moved, known = s.deps.Moved(cfg)
	}
	m := s.Now()
	return m, Mark{cfg, m.connected, m.standing, moved}, known
}

// serving says what the engine does with a farm.
func (m *Moment) serving(f *farm.Farm) farmstate.Serving {
	switch {
	case f.Stopped:
		return farmstate.Stopped(m.refused[f.ID])
	case !f.InKernel() && !m.connected: // rules need no engine
		return farmstate.Serving{Problem: "the engine is not running"}
	}
	if problem := m.problems[f.ID]; problem != "" {
		return farmstate.Serving{Problem: problem}
	}
	if problem := m.board.deps.Unreachable(f); problem != "" {
		return farmstate.Serving{Problem: problem}
	}
	return farmstate.Serving{Running: true, Stale: !m.standing.InSync(), Warnings: m.board.Warnings(f)}
}

// Look returns the status of a farm, and why it is not up.
func (m *Moment) Look(f *farm.Farm) (farm.Status, string) {
	return farmstate.Look(f, m.board.deps.Health, m.board.told, m.serving(f))
}

// Line is a farm in the list.
func (m *Moment) Line(f *farm.Farm) FarmLine {
	status, problem := m.Look(f)
	return FarmLine{FarmItem: m.item(f, status), Problem: problem}
}

// Item is a farm in a few words.
func (m *Moment) Item(f *farm.Farm) FarmItem {
	status, _ := m.Look(f)
	return m.item(f, status)
}
