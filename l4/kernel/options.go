package kernel

import (
	"context"
	"log/slog"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/core/health"
)

// Options is what a Keeper works with.
type Options struct {
	// Filter carries the farms.
	Filter Filter
	// Board tells which backends are usable; nil says all.
	Board *health.Board
	// Neighbours tells where backends of packet modes are; nil means that farms
	// of these cannot be carried.
	Neighbours Neighbours
	// Ground prepares the system for the farms; nil does nothing.
	Ground Ground
	// Connections are the tracked ones; nil means the kernel's.
	Connections Connections
	Log         *slog.Logger
}

// Ground is what carried farms stand on beside rules of ours: forwarding, other
// sysctls, firewalls of others that would drop their packets.
type Ground interface {
	// Prepare makes the system ready for the farms, which all run, or have
	// connections that may go on after they were stopped, or are the engine's
	// and transparent; with none it
	// gives back whatever it set. It is called before they are carried, again
	// and again with the same ones. problems are farms that cannot run, by ID.
	Prepare(ctx context.Context, farms []farm.Farm) (problems map[uint32]string)
}
