package farm

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

// owner is who has the backends of a group: a service, or the directives of a
// farm.
type owner interface {
	called() string    // the name of a service, empty for a farm
	number() *uint32   // what sessions and rotations are kept by
	lastSeat() *uint32 // the last seat a backend was given
	list() *[]Backend
	keepsSessions() bool
	sessionTTL() Seconds
	redirects() bool
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

// KeepsSessions reports whether clients stay on their backend.
func (g Group) KeepsSessions() bool { return g.of.keepsSessions() }

// SessionTTL is how long sessions of the group live that are not used.
func (g Group) SessionTTL() Seconds { return g.of.sessionTTL() }

// Redirects reports whether the service sends clients elsewhere, so that its
// backends get nothing.
func (g Group) Redirects() bool { return g.of.redirects() }

// String names the group in messages: "service web of farm shop", "farm dns".
func (g Group) String() string {
	if g.OfService() {
		return "service " + g.Name() + " of farm " + g.Farm.Name
	}
	return "farm " + g.Farm.Name
}
