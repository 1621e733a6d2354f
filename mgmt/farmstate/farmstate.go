// Package farmstate derives what the outside sees of a farm and its backends:
// one status word each, from the configuration, from what is known about the
// backends' health, and from whether the engine serves the farm at all.
//
// Everything here is a pure function of its arguments and may be called from
// any goroutine. The rules are those of the product family, first match wins:
//
//	1  not served (stopped, no engine, listener refused)   down
//	2  served, but with an older configuration              needed restart
//	3  no backend up                                        critical
//	4  some up, at least one down or without answers        problem
//	5  some up, at least one in maintenance                 maintenance
//	6  all up                                               up
//
// A service that only redirects counts as one backend that is up, and its
// backends, which receive nothing, count as nothing. So does a farm without services
// that answers for zones.
package farmstate

import "github.com/sluicelb/sluice/core/farm"

// Health answers what is known about the backend of that stable ID: up, down
// or undefined. Maintenance is configuration and not its business.
type Health func(backend uint32) farm.Status

// Serving is what the engine says about one farm.
type Serving struct {
	// Running is true when the engine has the farm in its tables and listens.
	Running bool
	// Stale is true when it runs with an older configuration than the stored one.
	Stale bool
	// Problem says in one sentence why the farm does not run, if there is more to
	// say than that it is stopped.
	Problem string
	// Warnings are what of a farm that runs cannot work now: packets a firewall
	// does not let through, and the like.
	Warnings []string
}

// Stopped is what the engine does with a stopped farm. refused is why its last
// start was refused, empty when it was not.
func Stopped(refused string) Serving {
	if refused == "" {
		return Serving{}
	}
	return Serving{Problem: "the last start was refused: " + refused +
		"; remove the cause, or change vip or vport, then start the farm again"}
}

// Backend returns the status of one backend: maintenance as configured, down
// while its name has no address, otherwise up, down or undefined as health says.
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

// In returns the status of the backend at a position of a group. One that stands
// for several is as good as the best of them.
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

// InStatistics returns the status as statistics show it: a backend nothing is
// known about is used, so it is up. Monitors of the family take any other word
// for an alarm.
func InStatistics(s farm.Status) farm.Status {
	if s == farm.StatusUndefined {
		return farm.StatusUp
	}
	return s
}

// Counts says how many backends of a farm are in which state. A backend
// nothing is known about is used, so it counts as up.
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

// Look returns the status of the farm, and in one sentence why that is not up; the
// sentence is empty for a farm that is, and for one that was stopped: that is no
// problem.
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
