package kernel

import (
	"context"
	"log/slog"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/core/health"
	"github.com/sluicelb/sluice/l4/kernel/rules"
)

// Options is what a Reconciler works with.
type Options struct {
	// Filter carries the farms.
	Filter Filter
	// Health tells which backends are usable; nil says all.
	Health *health.Table
	// Neighbours tells where backends of packet modes are; nil means that farms
	// of these cannot be carried.
	Neighbours Neighbours
	// Ground prepares the system for the farms; nil does nothing.
	Ground Ground
	// Relay is told what is carried; nil passes no ICMP errors on.
	Relay Relay
	// Connections are the tracked ones; nil means the kernel's.
	Connections Connections
	Log         *slog.Logger
}

// Ground is what carried farms stand on besides rules of ours: forwarding, other
// sysctls, firewalls of others that would drop their packets.
type Ground interface {
	// Prepare makes the system ready for the farms, which all run, or have
	// connections that may go on after they were stopped, or are the engine's
	// and transparent; with none it
	// gives back whatever it set. It is called before they are carried, again
	// and again with the same ones. problems are farms that cannot run, by ID.
	Prepare(ctx context.Context, farms []farm.Farm) (problems map[uint32]string)
	// Warnings are what may keep a farm it was prepared for from working as it
	// should, in sentences for people.
	Warnings(f *farm.Farm) []string
}

// Relay passes on ICMP errors about farms of packet modes (l4/kernel/icmprelay).
type Relay interface {
	// Follow tells the farms, the problems of those that are not carried, and
	// where their backends are; nil without farms of packet modes.
	Follow(farms []farm.Farm, problems map[uint32]string, wire rules.Wire)
}
