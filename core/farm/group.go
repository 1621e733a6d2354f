package farm

import (
	"math"
)

// Group is backends that share traffic: those of one service, or all of a farm
// that has backends of its own. It refers to the farm, which it changes. The
// zero Group has no backends and must not be given any.
type Group struct {
	Farm *Farm
	// Service is nil where the backends are not those of a service of an http
	// farm.
	Service *Service
	of      owner
}

// owner is who has the backends of a group: a service, or the settings of a
// farm.
type owner interface {
	called() string    // the name of a service, empty for a farm
	number() *uint32   // what sessions and rotations are kept by
	lastSlot() *uint32 // the last slot a backend was given
	list() *[]Backend
	sessionsBy() string // what sessions are kept by, empty when none are
	sessionTTL() Seconds
	redirects() bool
	check() *string // the name of the check of the backends
	// builtIn is the check they are asked by where none is named, and the port it asks
	// of backends that have none; empty and 0 for none.
	builtIn() (check string, port uint16)
	choosing() Choosing
}

// ID is the number sessions and rotations of the group are kept by.
func (g Group) ID() uint32 { return *g.IDAt() }

// IDAt is where the ID of the group is kept.
func (g Group) IDAt() *uint32 { return g.of.number() }

// Name is that of the service, empty for the backends of a farm itself.
func (g Group) Name() string {
	if g.of == nil {
		return ""
	}
	return g.of.called()
}

// OfService reports whether the backends are those of a service, and not of the
// farm itself.
func (g Group) OfService() bool { return g.Farm.HasServices() }

// Backends are those of the group, not a copy of them.
func (g Group) Backends() []Backend {
	if g.of == nil {
		return nil
	}
	return *g.of.list()
}

// SetBackends replaces the backends of the group.
func (g Group) SetBackends(list []Backend) { *g.of.list() = list }

// SessionsBy is the kind of persistence of the group, empty without any.
func (g Group) SessionsBy() string { return g.of.sessionsBy() }

// KeepsSessions reports whether clients stay on their backend.
func (g Group) KeepsSessions() bool { return g.SessionsBy() != "" }

// SessionTTL is how long sessions of the group live that are not used.
func (g Group) SessionTTL() Seconds { return g.of.sessionTTL() }

// Redirects reports whether the service sends clients elsewhere, so that its
// backends get nothing.
func (g Group) Redirects() bool { return g.of.redirects() }

// BuiltIn is the check the backends are asked by where none is named, and the port it asks
// of those that have none; empty and 0 for none.
func (g Group) BuiltIn() (check string, port uint16) { return g.of.builtIn() }

// Choosing is how a group chooses: by the policy of a service or, where that is nil, by
// the algorithm of an l4xnat farm.
type Choosing struct {
	Policy    *RoutingPolicy
	Algorithm L4Algorithm
}

// Choosing is how the group chooses among its backends.
func (g Group) Choosing() Choosing { return g.of.choosing() }

// String names the group in messages: "service web of farm shop", "farm dns".
func (g Group) String() string {
	if g.OfService() {
		return "service " + g.Name() + " of farm " + g.Farm.Name
	}
	return "farm " + g.Farm.Name
}

// Unusable counts the backends of a group that cannot be used, by priority. It
// decides the group's level: the priority up to which backends are in service.
// The zero value has none.
type Unusable [math.MaxUint8 + 1]int

// Level is the level of a service of an http farm: it starts at 1 and grows by
// one for each unusable backend it has reached.
func (u *Unusable) Level() int {
	level := 1
	for priority := 1; priority <= level && priority < len(u); priority++ {
		level += u[priority]
	}
	return level
}

// LevelL4 is the level of an l4xnat farm: it starts at 1 and grows by the number
// of unusable backends of exactly its priority until there are none (contract of
// the L4 core). Two of priority 1 open level 3, and what is of priority 2 and
// unusable then counts no more.
func (u *Unusable) LevelL4() int {
	level := 1
	for level < len(u) && u[level] > 0 {
		level += u[level]
	}
	return level
}
