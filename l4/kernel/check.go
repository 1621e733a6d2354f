package kernel

import (
	"context"
	"errors"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/l4/kernel/rules"
	"github.com/sluicelb/sluice/sysnet/nft"
)

// Checker is a Filter that can tell beforehand what it would not carry.
type Checker interface {
	// Check returns the farms of in that would not be carried and why, by ID, as
	// far as that can be told without changing anything.
	Check(ctx context.Context, in *rules.Input) map[uint32]string
}

// Check tells which farms of cfg would not be carried, and why, by ID: a change
// that is refused for that has never been in force, and has ended no connection.
// What only trying shows is not among it.
func (k *Keeper) Check(ctx context.Context, cfg *farm.Config) map[uint32]string {
	k.mu.Lock()
	defer k.mu.Unlock()
	c, ok := k.options.Filter.(Checker)
	if !ok {
		return nil
	}
	farms, transparent := split(cfg)
	return c.Check(ctx, k.input(farms, transparent, k.look(farms)))
}

// Check implements Checker: the kernel looks at the difference without taking
// it.
func (n *Nftables) Check(ctx context.Context, in *rules.Input) map[uint32]string {
	n.mu.Lock()
	applied := n.applied
	n.mu.Unlock()
	problems, err := withoutRefused(in, n.log, func(left *rules.Input) (problems, refused map[uint32]string, err error) {
		want, problems := rules.Compile(left)
		if applied == nil {
			return problems, nil, nil
		}
		batch, ok := nft.Diff(applied, want)
		if !ok {
			return problems, nil, nil
		}
		err = n.run.Try(ctx, batch)
		var e *nft.Error
		if errors.As(err, &e) && !nft.IsMissing(err) {
			return nil, e.Refused, err
		}
		return problems, nil, nil
	})
	if err != nil {
		n.log.Debug("rules could not be checked beforehand", "reason", err)
	}
	return problems
}

// Check implements Checker.
func (p *Iptables) Check(_ context.Context, in *rules.Input) map[uint32]string {
	_, problems := compileIptables(in)
	return problems
}
