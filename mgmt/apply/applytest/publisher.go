// Package applytest provides an engine for tests of code above mgmt/apply. It records
// publications and refuses, fails or blocks on command.
package applytest

import (
	"context"
	"sync"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/mgmt/apply"
)

// Publisher implements apply.Publisher. The zero value accepts everything. It is safe for
// concurrent use.
type Publisher struct {
	mu         sync.Mutex
	inForce    *farm.Config
	published  int
	answer     func(*farm.Config) (apply.Outcome, error)
	generation uint64
}

// Answer sets the function that decides about configurations; nil accepts all. A configuration
// is in force if the error is nil.
func (p *Publisher) Answer(decide func(*farm.Config) (apply.Outcome, error)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.answer = decide
}

// Publish calls the decision and counts. Calls may overlap. A decision that blocks should watch
// a channel of its own; ctx ends the wait in any case.
func (p *Publisher) Publish(ctx context.Context, cfg *farm.Config) (apply.Outcome, error) {
	p.mu.Lock()
	decide := p.answer
	p.published++
	p.generation++
	generation := p.generation
	p.mu.Unlock()
	out, err := apply.Outcome{}, error(nil)
	if decide != nil {
		done := make(chan struct{})
		go func() {
			out, err = decide(cfg)
			close(done)
		}()
		select {
		case <-done:
		case <-ctx.Done():
			return apply.Outcome{}, ctx.Err()
		}
	}
	if err != nil {
		return out, err
	}
	out.Generation = generation
	p.mu.Lock()
	defer p.mu.Unlock()
	p.inForce = cfg
	return out, nil
}

// InForce returns the last accepted configuration, nil before the first.
func (p *Publisher) InForce() *farm.Config {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.inForce
}

// Published returns the number of calls of Publish.
func (p *Publisher) Published() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.published
}
