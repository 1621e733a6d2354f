package forward

import (
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

// kindsOf lists what the farms that are to be served need.
func kindsOf(cfg *farm.Config) (kinds []marks.Kind) {
	for i := range cfg.Farms {
		if f := &cfg.Farms[i]; f.L4 != nil {
			kinds = append(kinds, marks.Needed(f)...)
		}
	}
	return kinds
}

// kinds lists what the backends of the table need.
func (t *table) kinds() (kinds []marks.Kind) {
	for _, b := range t.backends {
		kinds = append(kinds, b.kinds...)
	}
	return kinds
}

// unmarked says why the backends of a farm cannot be connected to with the
// marks they ask for.
func unmarked(f *farm.Farm, missing map[marks.Kind]error) error {
	for i := range f.L4.Backends {
		for _, k := range marks.Each(f, &f.L4.Backends[i]) {
			if err := missing[k]; err != nil {
				return fmt.Errorf("backend %d has %s: %w", i, k, err)
			}
		}
	}
	return nil
}
