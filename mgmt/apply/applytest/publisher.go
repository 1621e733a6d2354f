// Package applytest is an engine for tests of everything above mgmt/apply: it
// keeps what was published and refuses, fails or stays silent on command.
package applytest

import (
	"context"
	"sync"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/mgmt/apply"
)

// Publisher implements apply.Publisher. The zero value takes everything. Safe
// for use by many goroutines.
type Publisher struct {
	mu         sync.Mutex
	inForce    *farm.Config
	published  int
	answer     func(*farm.Config) (apply.Outcome, error)
	generation uint64
}

// Answer sets what decides about the configurations to come; nil takes them
// all. A configuration is in force when the error is nil.
func (p *Publisher) Answer(decide func(*farm.Config) (apply.Outcome, error)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.answer = decide
}

// Publish asks the decision and counts. Calls may overlap; a decision that
// blocks should watch its own channel, ctx ends the wait either way.
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

// InForce returns the configuration taken last, nil before the first.
func (p *Publisher) InForce() *farm.Config {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.inForce
}

// Published returns how often Publish was called.
func (p *Publisher) Published() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.published
}
