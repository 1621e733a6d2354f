package forward

import (
	"cmp"
	"fmt"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/core/marks"
)

// MarkWith makes connections with a mark use the sockets of r: an engine
// without privilege may not set marks itself. Call it before Publish. Without
// it the loops set the marks.
func (e *Engine) MarkWith(r *marks.Reserve) {
	e.marks.Draw(r)
	for _, w := range e.workers {
		w.loop.MarkBy(r)
	}
}

// kindOf is what a backend needs; its mark is 0 when it needs nothing, and
// marks.Transparent where it is to see the client's address.
func kindOf(f *farm.Farm, b *farm.Backend) marks.Kind {
	k := marks.Kind{Mark: cmp.Or(b.Mark, f.L4.Mark), V6: !b.Addr.Unmap().Is4(), UDP: f.L4.Protocol == farm.L4UDP}
	if f.Transparent() {
		k.Mark = marks.Transparent
	}
	return k
}

// kindsOf lists what the farms that are to be served need.
func kindsOf(cfg *farm.Config) (kinds []marks.Kind) {
	for i := range cfg.Farms {
		f := &cfg.Farms[i]
		if f.Stopped || !f.InUserspace() {
			continue
		}
		for j := range f.L4.Backends {
			kinds = append(kinds, kindOf(f, &f.L4.Backends[j]))
		}
	}
	return kinds
}

// kinds lists what the backends of the table need.
func (t *table) kinds() (kinds []marks.Kind) {
	for _, b := range t.backends {
		kinds = append(kinds, b.kind)
	}
	return kinds
}

// unmarked says why the backends of a farm cannot be connected to with the
// marks they ask for.
func unmarked(f *farm.Farm, missing map[marks.Kind]error) error {
	for i := range f.L4.Backends {
		k := kindOf(f, &f.L4.Backends[i])
		if err := missing[k]; err != nil {
			return fmt.Errorf("backend %d has %s: %w", i, k, err)
		}
	}
	return nil
}
