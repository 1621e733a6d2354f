package engine

import (
	"time"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/core/loop"
	"github.com/sluicelb/sluice/core/marks"
	"github.com/sluicelb/sluice/core/ports"
	"github.com/sluicelb/sluice/core/revive"
)

// Table is a configuration compiled by an engine.
type Table interface {
	// Listeners returns the listeners of farms, by farm number.
	Listeners() map[uint32][]farm.Listener
	// Changes returns the difference from the table in use when this one was compiled, or
	// nil if unknown. Unchanged farms already have their ports.
	Changes() *Changes
	// Bind assigns the farm with that number to a port. It is called before Use.
	Bind(p *ports.Port, farm uint32)
	// Behind reports whether the port has a farm, and otherwise the grace period of its
	// connections.
	Behind(p *ports.Port) (is bool, grace time.Duration)
	// Reached returns how the backend with that number is connected, or nil.
	Reached(id uint32) *revive.Backend
	// Fresh returns the backends whose connections may differ from the previous table: at
	// least the backends of new or changed farms.
	Fresh() []*revive.Backend
	// Kinds returns the kinds of sockets to backends.
	Kinds() []marks.Kind
	// Use puts the table into use; Used is called when all loops use it.
	Use()
	Used(cfg *farm.Config)
}

// Profile is the part an engine adds to Base.
type Profile interface {
	// Handles reports whether the engine serves this kind of farm, running or not.
	Handles(f *farm.Farm) bool
	// Compile returns the table of a configuration; first means that there was none before.
	// A farm that does not compile, or needs a missing kind of socket, is left out and added
	// to problems.
	Compile(generation uint64, first bool, cfg *farm.Config, missing map[marks.Kind]error) (t Table, problems map[uint32]error)
	// Generation returns the number of the table in use, or 0 before the first.
	Generation() uint64
	// Current returns the table in use.
	Current() Table
	// Empty returns a table without farms that knows the backends of the current one.
	Empty() Table
}

// Worker is an engine's part on one loop.
type Worker interface {
	ports.Side
	// Loop returns the worker's loop.
	Loop() *loop.Loop
	// Reconcile adapts work in progress to the table in use, and ends the remaining work on
	// ports whose grace period is over.
	Reconcile(over map[*ports.Port]bool)
	// Busy returns the amount of work in progress.
	Busy() int
}
