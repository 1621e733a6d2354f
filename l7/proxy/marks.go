package proxy

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/core/loop"
	"github.com/sluicelb/sluice/core/marks"
)

// marksWithin bounds the wait for sockets of marks that were not in use before.
const marksWithin = time.Second

// MarkWith makes connections with a mark use the sockets of r: an engine
// without privilege may not set marks itself. Call it before Publish. Without
// it the loops set the marks.
func (e *Engine) MarkWith(r *marks.Reserve) {
	e.marks = r
	for _, w := range e.workers {
		w.loop.MarkBy(r)
	}
}

// markOf is the mark of connections to a backend; 0 means none.
func markOf(f *farm.Farm, b *farm.Backend) uint32 { return cmp.Or(b.Mark, f.HTTP.Mark) }

// kindOf is what a backend with a mark needs.
func kindOf(f *farm.Farm, b *farm.Backend) marks.Kind {
	return marks.Kind{Mark: markOf(f, b), V6: !b.Addr.Unmap().Is4()}
}

// kindsOf lists what the farms that are to be served need.
func kindsOf(cfg *farm.Config) (kinds []marks.Kind) {
	seen := map[marks.Kind]bool{}
	for i := range cfg.Farms {
		f := &cfg.Farms[i]
		if f.Stopped || f.HTTP == nil {
			continue
		}
		for _, s := range f.HTTP.Services {
			for j := range s.Backends {
				if k := kindOf(f, &s.Backends[j]); k.Mark != 0 && !seen[k] {
					seen[k] = true
					kinds = append(kinds, k)
				}
			}
		}
	}
	return kinds
}

// prepareMarks fills reserves for the marks that are not in use yet and says
// what cannot be had. A first table does not wait for a netd that is just being
// started again: its farms are better served late than not at all.
func (e *Engine) prepareMarks(cfg *farm.Config) (missing map[marks.Kind]error) {
	kinds := slices.DeleteFunc(kindsOf(cfg), func(k marks.Kind) bool { return e.marked[k] })
	if len(kinds) == 0 {
		return nil
	}
	if e.marks != nil {
		missing = e.marks.Prepare(kinds, marksWithin)
		for k, err := range missing {
			if errors.Is(err, marks.ErrSilent) && e.Generation() == 0 {
				delete(missing, k)
			}
		}
		return missing
	}
	missing = map[marks.Kind]error{}
	if err := loop.CanMark(); err != nil {
		for _, k := range kinds {
			missing[k] = fmt.Errorf("%w: give the engine that capability, or remove the mark", err)
		}
	}
	return missing
}

// keepMarks lets go of the marks no farm of the table in use has.
func (e *Engine) keepMarks() {
	e.marked = map[marks.Kind]bool{}
	for _, b := range e.table.Load().backends {
		if mark := b.target.Options.Mark; mark != 0 {
			e.marked[marks.Kind{Mark: mark, V6: !b.target.Addr.Addr().Unmap().Is4()}] = true
		}
	}
	if e.marks != nil {
		e.marks.Keep(slices.Collect(maps.Keys(e.marked)))
	}
}

// unmarked says why the backends of a farm cannot be connected to with the
// marks they ask for.
func unmarked(f *farm.Farm, missing map[marks.Kind]error) error {
	if len(missing) == 0 {
		return nil
	}
	for _, s := range f.HTTP.Services {
		for i := range s.Backends {
			k := kindOf(f, &s.Backends[i])
			if err := missing[k]; err != nil {
				return fmt.Errorf("service %q: backend %d has %s: %w", s.Name, i, k, err)
			}
		}
	}
	return nil
}
