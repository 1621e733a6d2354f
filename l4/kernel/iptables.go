package kernel

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"sync"

	"github.com/sluicelb/sluice/l4/kernel/rules"
	"github.com/sluicelb/sluice/sysnet/ctl"
	"github.com/sluicelb/sluice/sysnet/iptables"
	"github.com/sluicelb/sluice/sysnet/nft"
)

// Iptables is the Filter for kernels without nf_tables. It carries nat and dnat;
// what else it cannot is the problem of the farm. It does not list sessions.
type Iptables struct {
	Unable // for what is asked of sessions
	run    *iptables.Runner
	log    *slog.Logger

	carrying sync.Mutex // held while rules are made anew
	has      [2]bool    // whether there are any, by family

	mu     sync.Mutex
	chains map[uint32][]string        // what is in the kernel, by farm
	lines  []string                   // all of it; nil while that is not known
	past   map[uint32]ctl.KernelCount // what was counted by rules that are no more
}

// NewIptables returns the filter.
func NewIptables(run *iptables.Runner, log *slog.Logger) *Iptables {
	return &Iptables{Unable: Unable{nft.ErrUnsupported}, run: run, log: log, past: map[uint32]ctl.KernelCount{}}
}

// Carry implements Filter.
func (p *Iptables) Carry(ctx context.Context, in *rules.Input) (map[uint32]string, error) {
	p.carrying.Lock()
	defer p.carrying.Unlock()
	return withoutRefused(in, p.log, func(left *rules.Input) (problems, refused map[uint32]string, err error) {
		scripts, problems := compileIptables(left)
		for family, script := range scripts {
			counted := p.keepCounts(ctx, family == 1)
			if err := p.run.Apply(ctx, family == 1, script); err != nil {
				var e *iptables.Error
				if errors.As(err, &e) && e.Owner != 0 {
					refused = map[uint32]string{e.Owner: err.Error()}
				}
				if family == 1 && refused == nil && len(script.Table("nat").Chains) == 0 {
					continue // a kernel without IPv6, and nobody wants it
				}
				return nil, refused, err
			}
			p.add(counted)
			p.has[family] = len(script.Tables) > 0
		}
		for i := range in.Transparent {
			problems[in.Transparent[i].ID] = "without nf_tables the engine gets no answers to the client's address: use datapath kernel"
		}
		p.remember(ctx, scripts)
		return problems, nil, nil
	})
}

// Rules implements Filter: the lines of the chains of the farm and of its
// backends, and those that lead to them.
func (p *Iptables) Rules(ctx context.Context, farm uint32) (string, error) {
	p.mu.Lock()
	mine := p.chains[farm]
	p.mu.Unlock()
	lines, err := p.run.Lines(ctx)
	lines = slices.DeleteFunc(lines, func(line string) bool {
		return !slices.ContainsFunc(strings.Fields(line), func(word string) bool { return slices.Contains(mine, word) })
	})
	return strings.Join(lines, "\n"), err
}

// Objects implements Filter.
func (p *Iptables) Objects(ctx context.Context) (list []ctl.KernelObject, err error) {
	lines, err := p.run.Lines(ctx)
	for _, line := range lines {
		list = append(list, ctl.KernelObject{Kind: "iptables rule", Name: line})
	}
	return list, err
}

// remember notes which chains are whose, and what they are.
func (p *Iptables) remember(ctx context.Context, scripts [2]*iptables.Script) {
	lines, err := p.run.Lines(ctx)
	if err != nil {
		lines = nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.lines = lines
	p.chains = map[uint32][]string{}
	for _, s := range scripts {
		for _, c := range s.Table("nat").Chains {
			if c.Owner != 0 {
				p.chains[c.Owner] = append(p.chains[c.Owner], c.Name)
			}
		}
	}
}
