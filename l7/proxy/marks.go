package proxy

import (
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
		if f := &cfg.Farms[i]; f.HTTP != nil {
			kinds = append(kinds, marks.Needed(f)...)
		}
	}
	return kinds
}
