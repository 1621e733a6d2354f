package publish

import (
	"slices"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/core/marks"
	"github.com/sluicelb/sluice/mgmt/apply"
)

// leave lets netd make the sockets the farms of cfg need, and still those of the
// configuration in force: the engine may keep to that, and asks for them until it
// has the other.
func (p *Publisher) leave(cfg *farm.Config) error {
	kinds := needed(cfg)
	if err := p.setKinds(slices.Concat(p.inForce(), kinds)); err != nil {
		return &apply.Refused{Reason: err.Error()}
	}
	return nil
}

// inForce are the kinds of the configuration in force.
func (p *Publisher) inForce() []marks.Kind {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.kinds
}

// takeBack leaves netd the kinds of the configuration in force, which is cfg.
func (p *Publisher) takeBack(cfg *farm.Config) {
	p.mu.Lock()
	p.kinds = needed(cfg)
	p.mu.Unlock()
	p.restore()
}

// restore makes the kinds those of the configuration in force, and no others.
func (p *Publisher) restore() {
	if err := p.setKinds(p.inForce()); err != nil {
		p.options.Log.Error("sockets with a mark that no farm needs can be had still", "error", err)
	}
}

func (p *Publisher) setKinds(kinds []marks.Kind) error {
	if p.options.Kinds == nil {
		return nil
	}
	return p.options.Kinds.Set(kinds)
}

// needed are the kinds of sockets the farms of cfg need that the engine does not
// get by itself.
func needed(cfg *farm.Config) (kinds []marks.Kind) {
	for i := range cfg.Farms {
		kinds = append(kinds, marks.Needed(&cfg.Farms[i])...)
	}
	return kinds
}
