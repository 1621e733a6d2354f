package forward

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

// marksWithin bounds the wait for sockets that were not in use before.
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

// kindOf is what a backend needs; its mark is 0 when it needs nothing.
func kindOf(f *farm.Farm, b *farm.Backend) marks.Kind {
	return marks.Kind{Mark: markOf(f, b), V6: !b.Addr.Unmap().Is4(), UDP: f.L4.Protocol == farm.L4UDP}
}

// markOf is the mark of connections to a backend, or marks.Transparent where it
// is to see the client's address.
func markOf(f *farm.Farm, b *farm.Backend) uint32 {
	if f.Transparent() {
		return marks.Transparent
	}
	return cmp.Or(b.Mark, f.L4.Mark)
}

// kindsOf lists what the farms that are to be served need.
func kindsOf(cfg *farm.Config) []marks.Kind {
	seen := map[marks.Kind]bool{}
	for i := range cfg.Farms {
		f := &cfg.Farms[i]
		if f.Stopped || !f.InUserspace() {
			continue
		}
		for j := range f.L4.Backends {
			if k := kindOf(f, &f.L4.Backends[j]); k.Mark != 0 {
				seen[k] = true
			}
		}
	}
	return slices.Collect(maps.Keys(seen))
}

// prepareMarks fills reserves for what is not in use yet and says what cannot
// be had. A first table does not wait for a netd that is just being started
// again.
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

// keepMarks lets go of what no farm of the table in use needs.
func (e *Engine) keepMarks() {
	e.marked = map[marks.Kind]bool{}
	for _, b := range e.table.Load().backends {
		if mark := b.options.Mark; mark != 0 {
			e.marked[marks.Kind{Mark: mark, V6: !b.addr.Addr().Unmap().Is4(), UDP: b.reach.Blind}] = true
		}
	}
	if e.marks != nil {
		e.marks.KeepFor("l4", slices.Collect(maps.Keys(e.marked)))
	}
}

// unmarked says why the backends of a farm cannot be connected to with the
// marks they ask for.
func unmarked(f *farm.Farm, missing map[marks.Kind]error) error {
	if len(missing) == 0 {
		return nil
	}
	for i := range f.L4.Backends {
		k := kindOf(f, &f.L4.Backends[i])
		if err := missing[k]; err != nil {
			return fmt.Errorf("backend %d has %s: %w", i, k, err)
		}
	}
	return nil
}
