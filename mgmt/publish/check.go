package publish

import (
	"context"
	"maps"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/mgmt/apply"
)

// Check implements apply.Checker. Kernel farms change before the engine decides, and removing
// rules ends connections. So a change of kernel farms whose refusal can be predicted is not
// started. Listeners opened here are kept for the publication that follows.
func (p *Publisher) Check(ctx context.Context, cfg *farm.Config, judge func(apply.Outcome) error) error {
	select {
	case p.turn <- struct{}{}:
		defer func() { <-p.turn }()
	case <-ctx.Done():
		return ctx.Err()
	}
	p.mu.Lock()
	engine, now := p.engine, p.kernel
	p.mu.Unlock()
	cfg, problems := p.complete(cfg)
	farms := p.ofKernel(cfg)
	if engine == nil || p.options.Kernel == nil || !now.known || sameFarms(now.farms, farms) {
		return nil
	}
	ls := p.listeners(ctx, cfg, p.needs.Of(cfg.Farms, needsOf))
	defer ls.close()
	state, err := p.send(ctx, now.state.Generation, farms, p.options.Kernel.KernelCheck)
	if err != nil {
		return nil // the publication reports the error
	}
	ls.addKernel(cfg, state.Problems)
	maps.Copy(ls.problems, problems)
	if err := judge(apply.Outcome{FarmErrors: ls.problems, Absent: ls.absent}); err != nil {
		p.tidy(ctx, ls.before.has)
		return err
	}
	return nil
}
