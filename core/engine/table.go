package engine

import (
	"time"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/core/loop"
	"github.com/sluicelb/sluice/core/marks"
	"github.com/sluicelb/sluice/core/ports"
	"github.com/sluicelb/sluice/core/revive"
)

// Table is a configuration as an engine compiled it.
type Table interface {
	// Listeners are the places farms listen at, by the number of the farm.
	Listeners() map[uint32][]farm.Listener
	// Changes is what differs from the table that was in use when this one was compiled; nil
	// when that is not known. Farms that did not change are behind their ports already.
	Changes() *Changes
	// Bind makes the farm with that number the one behind a port. It is called
	// before Use.
	Bind(p *ports.Port, farm uint32)
	// Behind reports whether a farm is behind the port, and how long what came in
	// there may go on once none is.
	Behind(p *ports.Port) (is bool, grace time.Duration)
	// Reached is how the backend with that number is reached, nil when there is none.
	Reached(id uint32) *revive.Backend
	// Fresh are those that may not be reached as in the table before: at least all of
	// farms that are not the same there.
	Fresh() []*revive.Backend
	// Kinds are those of the sockets to backends.
	Kinds() []marks.Kind
	// Use puts the table into use; Used is called when all loops use it.
	Use()
	Used(cfg *farm.Config)
}

// Profile is what an engine adds to the scaffold.
type Profile interface {
	// Handles reports whether a farm is of the kind the engine serves, running or not.
	Handles(f *farm.Farm) bool
	// Compile makes the table of a configuration; first says that there was none.
	// A farm that does not compile is left out and named in problems, as is one
	// that needs a kind of socket that is missing.
	Compile(generation uint64, first bool, cfg *farm.Config, missing map[marks.Kind]error) (t Table, problems map[uint32]error)
	// Generation is the number of the table in use; 0 before the first.
	Generation() uint64
	// Current is the table in use.
	Current() Table
	// Empty is a table without farms that knows the backends of the one in use.
	Empty() Table
}

// Worker is an engine's part on one loop.
type Worker interface {
	ports.Side
	// Loop is the loop.
	Loop() *loop.Loop
	// Reconcile brings what is under way in line with the table in use, and ends what
	// is left of ports whose grace is over.
	Reconcile(over map[*ports.Port]bool)
	// Busy is how much is under way.
	Busy() int
}
