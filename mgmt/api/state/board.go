// Package state is how farms and backends are at this moment, as every answer
// tells it: their status, why it is not up, what their names resolve to. A
// Board asks those who know.
package state

import (
	"time"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/core/health"
	"github.com/sluicelb/sluice/mgmt/apply"
	"github.com/sluicelb/sluice/mgmt/farmstate"
)

// Applied is what the writer of the configuration knows of the farms in force;
// *apply.Applier does.
type Applied interface {
	Problems() map[uint32]string
	RefusedStarts() map[uint32]string
	Standing() apply.Standing
}

// Deps is what a Board asks. Ejection, Warnings and Resolved may be nil.
type Deps struct {
	Applier Applied
	Engine  func() Engine
	// Health answers up, down or undefined for a backend's stable ID.
	Health farmstate.Health
	// Ejection answers whether the backend of a stable ID is ejected, and why;
	// nil means that none ever is.
	Ejection func(backend uint32) (health.Ejection, bool)
	// Silent says of a backend that can be connected to that it never answers;
	// Unreachable why clients do not reach a farm that runs. Both answer "" when
	// nothing is known, and must not take long.
	Silent func(backend uint32) string
	// Checked says of a backend that its health check fails, and why; nil: none is asked.
	Checked     func(backend uint32) string
	Unreachable func(f *farm.Farm) string
	// Warnings is what of a farm that is served cannot work now, in sentences; it
	// must not take long.
	Warnings func(f *farm.Farm) []string
	// Moved grows with every change of what Health, Ejection, Silent, Unreachable and
	// Warnings say of the farms of a configuration, after it; false when nobody can
	// tell. nil: nobody ever can.
	Moved func(cfg *farm.Config) (uint64, bool)
	// Resolved tells what is known of host names.
	Resolved Resolved
	Now      func() time.Time
}

// Board tells how farms and backends are; make it with New. It is safe for use by
// many goroutines.
type Board struct{ deps Deps }

// New returns a board that asks deps.
func New(deps Deps) *Board { return &Board{deps: deps} }
