// Package farmstate derives the visible status of a farm and its backends. It uses the
// configuration, the known health of the backends, and whether the engine serves the farm
// at all.
//
// Everything here is a pure function of its arguments and may be called from any goroutine. The
// product family defines the rules; the first match wins:
//
//	1  not served (stopped, no engine, listener refused)   down
//	2  served, but with an older configuration              needed restart
//	3  no backend up                                        critical
//	4  some up, at least one down or silent                 problem
//	5  some up, at least one in maintenance                 maintenance
//	6  all up                                               up
//
// A service that only redirects counts as one backend that is up. Its own backends get no
// traffic and are ignored. A farm without services that serves zones counts in the same way.
package farmstate

import "github.com/sluicelb/sluice/core/farm"

// Health returns the known health of the backend with that stable ID: up, down or
// undefined. It does not reflect maintenance, which is configuration.
type Health func(backend uint32) farm.Status

// Serving is the engine's state of one farm.
type Serving struct {
	// Running is true when the engine has the farm in its tables and listens.
	Running bool
	// Stale is true when it runs with an older configuration than the stored one.
	Stale bool
	// Problem explains in one sentence why the farm does not run; empty if it is just stopped.
	Problem string
	// Warnings are the current faults of a running farm, e.g. packets that a firewall
	// drops.
	Warnings []string
}

// Stopped returns the Serving of a stopped farm. refused is why its last start was refused,
// empty if it was not.
func Stopped(refused string) Serving {
	if refused == "" {
		return Serving{}
	}
	return Serving{Problem: "the last start was refused: " + refused +
		"; remove the cause, or change vip or vport, then start the farm again"}
}

// Backend returns the status of one backend: maintenance as configured, down while its name
// has no address, otherwise the result of health.
func Backend(b *farm.Backend, health Health) farm.Status {
	if b.Maintenance != farm.MaintenanceOff {
		return farm.StatusMaintenance
	}
	if b.Unresolved() {
		return farm.StatusDown
	}
	switch s := health(b.ID); s {
	case farm.StatusUp, farm.StatusDown:
		return s
	default:
		return farm.StatusUndefined
	}
}

// In returns the status of the backend at a position of a group. A backend that stands for
// several has the status of the best of them.
func In(g farm.Group, position int, health Health) farm.Status {
	b := &g.Backends()[position]
	if !b.Spreads() || b.Maintenance != farm.MaintenanceOff {
		return Backend(b, health)
	}
	for _, part := range g.Parts(b.ID) {
		if s := Backend(&part, health); !part.Left && s != farm.StatusDown {
			return s
		}
	}
	return farm.StatusDown
}

// InStatistics returns the status as statistics show it: an undefined backend is used, so
// it is up. Monitoring programs for the product family treat any other word as an alarm.
func InStatistics(s farm.Status) farm.Status {
	if s == farm.StatusUndefined {
		return farm.StatusUp
	}
	return s
}

// Counts holds the numbers of a farm's backends in each state. An undefined backend is
// used, so it counts as up.
type Counts struct {
	Up, Down, Maintenance int
}

// Count counts the backends of the farm; a redirecting service is one up.
func Count(f *farm.Farm, health Health) Counts {
	return survey(f, health, func(uint32) string { return "" }).Counts
}

// Farm returns the status of the farm.
func Farm(f *farm.Farm, health Health, told Told, serving Serving) farm.Status {
	status, _ := Look(f, health, told, serving)
	return status
}

// Look returns the status of the farm, and in one sentence why it is not up. The sentence
// is empty for a farm that is up, and for a stopped one, which is no problem.
func Look(f *farm.Farm, health Health, told Told, serving Serving) (farm.Status, string) {
	switch {
	case serving.Problem != "", f.Stopped:
		return farm.StatusDown, serving.Problem
	case !serving.Running:
		return farm.StatusDown, "not served"
	case serving.Stale:
		return farm.StatusNeededRestart, "the engine still runs an older configuration"
	}
	found := survey(f, health, told)
	return found.status(serving), found.problem(f, serving)
}
