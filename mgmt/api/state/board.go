// Package state reports the current state of farms and backends for all responses: their
// status, the reason for it, and the resolution of host names. A Board collects it from its
// dependencies.
package state

import (
	"time"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/core/health"
	"github.com/sluicelb/sluice/mgmt/apply"
	"github.com/sluicelb/sluice/mgmt/farmstate"
)

// Applied reports the state of the farms in the current configuration; *apply.Applier
// implements it.
type Applied interface {
	Problems() map[uint32]string
	RefusedStarts() map[uint32]string
	Standing() apply.Standing
}

// Deps are the sources of a Board. Applier, Engine, Health and Now must be set.
type Deps struct {
	Applier Applied
	Engine  func() Engine
	// Health returns up, down or undefined for the stable ID of a backend.
	Health farmstate.Health
	// Ejection returns the ejection of the backend with that stable ID, if any; nil: no
	// backend is ever ejected.
	Ejection func(backend uint32) (health.Ejection, bool)
	// Silent reports that a backend accepts connections but never responds. Unreachable
	// explains why clients cannot reach a running farm. Both return "" if nothing is known,
	// and must be fast.
	Silent func(backend uint32) string
	// Checked explains why the health check of a backend fails; nil: there are no checks.
	Checked     func(backend uint32) string
	Unreachable func(f *farm.Farm) string
	// Warnings lists what cannot work now in a running farm, as sentences. It must be fast.
	Warnings func(f *farm.Farm) []string
	// Moved returns a number that grows with every change of the results of Health,
	// Ejection, Silent, Unreachable and Warnings for the farms of cfg. The change comes
	// first, then the increment. false, or nil, means unknown.
	Moved func(cfg *farm.Config) (uint64, bool)
	// Resolved reports the state of host names.
	Resolved Resolved
	Now      func() time.Time
}

// Board reports the state of farms and backends. Use New to make one. It is safe for
// concurrent use.
type Board struct{ deps Deps }

// New returns a board.
func New(deps Deps) *Board {
	if deps.Silent == nil {
		deps.Silent = func(uint32) string { return "" }
	}
	if deps.Unreachable == nil {
		deps.Unreachable = func(*farm.Farm) string { return "" }
	}
	return &Board{deps: deps}
}

// Silent explains that a backend accepts connections but never responds, "" otherwise.
func (s *Board) Silent(backend uint32) string { return s.deps.Silent(backend) }
