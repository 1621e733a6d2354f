package api

import "github.com/sluicelb/sluice/mgmt/api/rest"

// Resource is one part of the table of operations. Each package below this one that
// implements resources has a New, which makes one from its dependencies.
type Resource interface{ Operations() []*rest.Operation }

// Extension is a resource that provides something to the operations of all resources.
type Extension interface{ Extend(*rest.Host) }

// operations returns the table of all operations.
func (s *Server) operations() (out []*rest.Operation) {
	for _, r := range s.resources {
		out = append(out, r.Operations()...)
	}
	return out
}

// Route is one entry of the table of operations, for tests and tools.
type Route struct {
	Method, Path, Needs string
	Whole               bool // concerns all farms
	Asks                bool // changes nothing
	Outlives            bool // its result outlives the session
}

// Routes lists all operations, with paths relative to the base.
func (s *Server) Routes() []Route {
	var out []Route
	for _, o := range s.operations() {
		out = append(out, Route{o.Method, o.Path, string(o.Needs), o.Whole(), !o.Changes(), o.NeedsRaised()})
	}
	return out
}
