package publish

import (
	"slices"

	"github.com/sluicelb/sluice/core/marks"
	"github.com/sluicelb/sluice/mgmt/apply"
)

// leave lets netd make sockets of the given kinds, and still those of the
// configuration in force: the engine may keep to that, and asks for them until it
// has the other.
func (p *Publisher) leave(kinds []marks.Kind) error {
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

// takeBack leaves netd the kinds of the configuration in force.
func (p *Publisher) takeBack(kinds []marks.Kind) {
	p.mu.Lock()
	p.kinds = kinds
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
