package farmstate

import "github.com/sluicelb/sluice/core/farm"

// State separates the three aspects that the single status of the product family mixes: the
// order to run, maintenance by an operator, and the actual state.
type State struct {
	// Configured is up if the object is started, down if it is stopped.
	Configured string
	// Maintenance is set by an operator. For a backend it is none, drain or cut; for a group of
	// backends it is none, some or all of them.
	Maintenance string
	// Actual is the observed state, independently of the others. For a farm it is up (clients
	// are accepted), outdated (with an older configuration) or down; for a service up or down;
	// for a backend up, down, ejected or undefined.
	Actual string
}

// The values in a State.
const (
	Up        = "up"
	Down      = "down"
	Outdated  = "outdated"
	Ejected   = "ejected"
	Undefined = "undefined"
	None      = "none"
	Some      = "some"
	All       = "all"
)

func configured(f *farm.Farm) string {
	if f.Stopped {
		return Down
	}
	return Up
}

// OfFarm returns the state of a farm.
func OfFarm(f *farm.Farm, serving Serving) State {
	var taken, all int
	for _, g := range f.Groups() {
		if !g.Redirects() {
			t, a := takenOut(g)
			taken, all = taken+t, all+a
		}
	}
	return State{Configured: configured(f), Maintenance: share(taken, all), Actual: served(f, serving)}
}

func served(f *farm.Farm, serving Serving) string {
	switch {
	case f.Stopped, !serving.Running, serving.Problem != "":
		return Down
	case serving.Stale:
		return Outdated
	}
	return Up
}

// OfGroup returns the state of a service, or of the backends of an l4xnat farm. It is up while
// clients get responses: from a usable backend, or by a redirect of the service.
func OfGroup(g farm.Group, health Health, serving Serving) State {
	taken, all := takenOut(g)
	out := State{Configured: configured(g.Farm), Maintenance: share(taken, all), Actual: Down}
	if served(g.Farm, serving) == Down {
		return out
	}
	if g.Redirects() {
		out.Actual = Up
		return out
	}
	for i := range g.Backends() {
		if s := In(g, i, health); s == farm.StatusUp || s == farm.StatusUndefined {
			out.Actual = Up
			break
		}
	}
	return out
}

// OfBackend returns the state of the backend at a position of a group. ejected reports that
// it was ejected.
func OfBackend(g farm.Group, position int, health Health, ejected bool) State {
	b := &g.Backends()[position]
	out := State{Configured: configured(g.Farm), Maintenance: string(b.Maintenance), Actual: actual(g, b, health)}
	if out.Maintenance == "" {
		out.Maintenance = None
	}
	if ejected && out.Actual != Down {
		out.Actual = Ejected
	}
	return out
}

// actual returns the known state of a backend, ignoring maintenance.
func actual(g farm.Group, b *farm.Backend, health Health) string {
	used := *b
	used.Maintenance = farm.MaintenanceOff
	if !b.Spreads() {
		return string(Backend(&used, health))
	}
	for _, part := range g.Parts(b.ID) {
		part.Maintenance = farm.MaintenanceOff
		if s := Backend(&part, health); !part.Left && s != farm.StatusDown {
			return string(s)
		}
	}
	return Down
}

// takenOut counts the backends of a group in maintenance, and all of them.
func takenOut(g farm.Group) (taken, all int) {
	list := g.Backends()
	for i := range list {
		if list[i].Left {
			continue
		}
		all++
		if list[i].Maintenance != farm.MaintenanceOff {
			taken++
		}
	}
	return taken, all
}

func share(taken, all int) string {
	switch taken {
	case 0:
		return None
	case all:
		return All
	}
	return Some
}
