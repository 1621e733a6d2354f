package table

import (
	"fmt"

	"github.com/sluicelb/sluice/core/engine"
	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/core/marks"
	"github.com/sluicelb/sluice/core/paged"
	"github.com/sluicelb/sluice/core/revive"
	"github.com/sluicelb/sluice/core/tlsconf"
)

// Table is one compiled generation. It is immutable once in use and read by all loops.
type Table struct {
	Generation uint64
	Build      *tlsconf.Build // source of its TLS configurations
	// Farms are the running farms. One-time work per farm is done for Fresh only.
	engine.Farms[*Farm]
	Backends paged.Map[Backend] // of all farms
	marked   int                // number of farms with marked sockets
}

// Number implements engine.Compiled.
func (f *Farm) Number() uint32 { return f.ID }

// Addresses implements engine.Compiled.
func (f *Farm) Addresses() []farm.Listener { return []farm.Listener{f.listener} }

// Service returns the service with that number, or nil if no running farm has it.
func (t *Table) Service(id uint32) *Service {
	for _, f := range t.ByID {
		for i := range f.Services {
			if f.Services[i].ID == id {
				return &f.Services[i]
			}
		}
	}
	return nil
}

// Cut reports whether a backend is cut, so that its exchanges end.
func (t *Table) Cut(id uint32) bool {
	b := t.Backends.Of(id)
	return b != nil && b.Mode == farm.MaintenanceCut
}

// Lost reports whether a backend is deleted or cut, so that no connection to it is kept.
func (t *Table) Lost(id uint32) bool { return t.Backends.Of(id) == nil || t.Cut(id) }

// Reached returns how a backend is connected to, or nil if it is unknown.
func (t *Table) Reached(id uint32) *revive.Backend {
	if b := t.Backends.Of(id); b != nil {
		return &b.Reach
	}
	return nil
}

// Kinds returns the kinds of marked sockets required by the backends.
func (t *Table) Kinds() (kinds []marks.Kind) {
	if t.marked == 0 {
		return nil
	}
	for _, f := range t.ByID {
		kinds = append(kinds, f.kinds...)
	}
	return kinds
}

// unmarked returns why a farm's backends cannot be reached with their marks, or nil.
func unmarked(f *farm.Farm, missing map[marks.Kind]error) error {
	if len(missing) == 0 {
		return nil
	}
	for _, s := range f.HTTP.Services {
		for i := range s.Backends {
			k := marks.Of(f, &s.Backends[i])
			if err := missing[k]; err != nil {
				return fmt.Errorf("service %q: backend %d has %s: %w", s.Name, i, k, err)
			}
		}
	}
	return nil
}
