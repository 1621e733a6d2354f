package publish

import (
	"slices"

	"github.com/sluicelb/sluice/core/marks"
	"github.com/sluicelb/sluice/mgmt/apply"
)

// leave permits netd the given kinds of sockets in addition to the kinds in the configuration
// in force. The engine may keep the old configuration and requests its kinds until it has the
// new one.
func (p *Publisher) leave(kinds []marks.Kind) error {
	if err := p.setKinds(slices.Concat(p.inForce(), kinds)); err != nil {
		return &apply.Refused{Reason: err.Error()}
	}
	return nil
}

// inForce returns the kinds of the configuration in force.
func (p *Publisher) inForce() []marks.Kind {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.kinds
}

// takeBack records kinds as those in force and permits only these to netd.
func (p *Publisher) takeBack(kinds []marks.Kind) {
	p.mu.Lock()
	p.kinds = kinds
	p.mu.Unlock()
	p.restore()
}

// restore permits netd only the kinds of the configuration in force.
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
