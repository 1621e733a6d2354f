package publish

import (
	"context"
	"errors"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/sysnet/ctl"
)

// Probe implements apply.Prober: netd tries to bind each address of f that the engine does not
// already listen on.
func (p *Publisher) Probe(ctx context.Context, f *farm.Farm) (problem string, absent bool) {
	for _, l := range f.Listeners() {
		if p.has(l.Key()) {
			continue
		}
		err := p.options.Netd.Probe(ctx, l.Key())
		var refused *ctl.Error
		switch {
		case err == nil:
		case !errors.As(err, &refused):
			return "", false // netd is unreachable: the change itself reports it
		case refused.Code != ctl.CodeNotLocal:
			return refused.Text, false
		case problem == "":
			problem, absent = refused.Text, true
		}
	}
	return problem, absent
}

// has reports whether the engine listens on key.
func (p *Publisher) has(key string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.holds.has[key]
}
