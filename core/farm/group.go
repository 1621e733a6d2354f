package farm

// Group is backends that share traffic: those of one service of an http farm,
// or all of an l4xnat farm. It refers to the farm, which it changes. The zero
// Group has no backends and must not be given any.
type Group struct {
	Farm *Farm
	// Service is nil for the group of an l4xnat farm.
	Service *Service
}

// Groups lists the groups of the farm, in the order of its services.
func (f *Farm) Groups() []Group {
	switch {
	case f.L4 != nil:
		return []Group{{Farm: f}}
	case f.HTTP == nil:
		return nil
	}
	out := make([]Group, len(f.HTTP.Services))
	for i := range f.HTTP.Services {
		out[i] = Group{Farm: f, Service: &f.HTTP.Services[i]}
	}
	return out
}

// ID is the number sessions and rotations of the group are kept by.
func (g Group) ID() uint32 { return *g.IDAt() }

// IDAt is where the ID of the group is kept.
func (g Group) IDAt() *uint32 {
	if g.Service != nil {
		return &g.Service.ID
	}
	return &g.Farm.L4.ID
}

// Name is that of the service, empty for the group of an l4xnat farm.
func (g Group) Name() string {
	if g.Service != nil {
		return g.Service.Name
	}
	return ""
}

// Backends are those of the group, not a copy of them.
func (g Group) Backends() []Backend {
	if list := g.list(); list != nil {
		return *list
	}
	return nil
}

// SetBackends replaces the backends of the group.
func (g Group) SetBackends(list []Backend) { *g.list() = list }

func (g Group) list() *[]Backend {
	switch {
	case g.Service != nil:
		return &g.Service.Backends
	case g.Farm != nil && g.Farm.L4 != nil:
		return &g.Farm.L4.Backends
	}
	return nil
}

// KeepsSessions reports whether clients stay on their backend.
func (g Group) KeepsSessions() bool {
	if g.Service != nil {
		return g.Service.EffectivePersistence() != PersistNone
	}
	return g.Farm.L4.Persist != L4PersistNone
}

// String names the group in messages: "service web of farm shop", "farm dns".
func (g Group) String() string {
	if g.Service != nil {
		return "service " + g.Service.Name + " of farm " + g.Farm.Name
	}
	return "farm " + g.Farm.Name
}
