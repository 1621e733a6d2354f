package kernel

import (
	"context"
	"log/slog"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/core/health"
	"github.com/sluicelb/sluice/l4/kernel/rules"
)

// Options configures a Reconciler.
type Options struct {
	// Filter carries the farms.
	Filter Filter
	// Health tells which backends are usable; nil means all.
	Health *health.Table
	// Neighbours finds backends of packet modes; without it such farms cannot be carried.
	Neighbours Neighbours
	// Ground prepares the system for the farms; nil does nothing.
	Ground Ground
	// Relay is notified of carried farms; nil passes no ICMP errors on.
	Relay Relay
	// Connections accesses tracked connections; nil means Tracked.
	Connections Connections
	Log         *slog.Logger
}

// Ground prepares what farms need besides the rules of this package: forwarding, other
// sysctls, and other firewalls that would drop their packets.
type Ground interface {
	// Prepare makes the system ready for the farms: those that run, those in their grace
	// period, and transparent farms of the engine. Without farms it restores all settings.
	// It is called before farms are carried, repeatedly with the same ones. problems holds
	// the farms that cannot run, by ID.
	Prepare(ctx context.Context, farms []farm.Farm) (problems map[uint32]string)
	// Warnings returns readable warnings about a prepared farm that may not work correctly.
	Warnings(f *farm.Farm) []string
}

// Relay passes on ICMP errors about farms of packet modes (l4/kernel/icmprelay).
type Relay interface {
	// Follow sets the farms, the problems of those not carried, and the next hops of their
	// backends (nil without farms of packet modes).
	Follow(farms []farm.Farm, problems map[uint32]string, wire rules.Wire)
}
