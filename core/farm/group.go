package farm

import (
	"math"
)

// Group is a set of backends that share traffic: the backends of a service, or of a farm
// without services. It refers to the farm and changes it. The zero Group is always empty.
type Group struct {
	Farm *Farm
	// Service is nil unless the group is a service of an http farm.
	Service *Service
	of      owner
}

// owner holds the backends of a group: a service, or a farm's settings.
type owner interface {
	called() string    // name of a service, empty for a farm
	number() *uint32   // key of sessions and rotations
	lastSlot() *uint32 // last assigned backend slot
	list() *[]Backend
	sessionsBy() string // kind of persistence, or empty
	sessionTTL() Seconds
	redirects() bool
	check() *string // name of the backends' check
	// builtIn returns the default check, and the port it uses for backends without one;
	// empty and 0 for none.
	builtIn() (check string, port uint16)
	choosing() Choosing
}

// ID returns the number that identifies sessions and rotations of the group.
func (g Group) ID() uint32 { return *g.IDAt() }

// IDAt returns a pointer to the ID.
func (g Group) IDAt() *uint32 { return g.of.number() }

// Name returns the name of the service, or an empty string for a farm's own backends.
func (g Group) Name() string {
	if g.of == nil {
		return ""
	}
	return g.of.called()
}

// OfService reports whether the group belongs to a service, not to the farm itself.
func (g Group) OfService() bool { return g.Farm.HasServices() }

// Backends returns the backends of the group, not a copy.
func (g Group) Backends() []Backend {
	if g.of == nil {
		return nil
	}
	return *g.of.list()
}

// SetBackends replaces the backends of the group.
func (g Group) SetBackends(list []Backend) { *g.of.list() = list }

// SessionsBy returns the kind of persistence of the group, or an empty string.
func (g Group) SessionsBy() string { return g.of.sessionsBy() }

// KeepsSessions reports whether clients stay on their backend.
func (g Group) KeepsSessions() bool { return g.SessionsBy() != "" }

// SessionTTL returns how long unused sessions live.
func (g Group) SessionTTL() Seconds { return g.of.sessionTTL() }

// Redirects reports whether the service redirects clients, so that its backends are unused.
func (g Group) Redirects() bool { return g.of.redirects() }

// BuiltIn returns the default check of the backends, and the port it uses for those without
// one; empty and 0 for none.
func (g Group) BuiltIn() (check string, port uint16) { return g.of.builtIn() }

// Choosing is how a group chooses: by the policy of a service or, if that is nil, by the
// algorithm of an l4xnat farm.
type Choosing struct {
	Policy    *RoutingPolicy
	Algorithm L4Algorithm
}

// Choosing returns how the group chooses among its backends.
func (g Group) Choosing() Choosing { return g.of.choosing() }

// String returns the group's name for messages: "service web of farm shop", "farm dns".
func (g Group) String() string {
	if g.OfService() {
		return "service " + g.Name() + " of farm " + g.Farm.Name
	}
	return "farm " + g.Farm.Name
}

// Unusable counts the unusable backends of a group by priority. It decides the group's
// level: the priority up to which backends are in service.
type Unusable [math.MaxUint8 + 1]int

// Level returns the level of a service of an http farm: it starts at 1 and grows by one for
// each unusable backend within the level.
func (u *Unusable) Level() int {
	level := 1
	for priority := 1; priority <= level && priority < len(u); priority++ {
		level += u[priority]
	}
	return level
}

// LevelL4 returns the level of an l4xnat farm. It starts at 1 and grows by the number of
// unusable backends of exactly its priority until there are none (contract of the L4 core).
// Two unusable ones of priority 1 open level 3, and then unusable ones of priority 2 no
// longer count.
func (u *Unusable) LevelL4() int {
	level := 1
	for level < len(u) && u[level] > 0 {
		level += u[level]
	}
	return level
}
