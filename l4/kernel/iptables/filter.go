package iptables

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/sluicelb/sluice/l4/kernel/carry"
	"github.com/sluicelb/sluice/l4/kernel/rules"
	"github.com/sluicelb/sluice/sysnet/ctl"
	"github.com/sluicelb/sluice/sysnet/iptables"
)

// Filter keeps the chains of ours equal to what was compiled. It carries nat and
// dnat; what else it cannot is the problem of the farm. Make it with New. One
// goroutine at a time calls Carry and Intact, any the other methods.
type Filter struct {
	run *iptables.Runner
	log *slog.Logger

	carrying sync.Mutex // held while rules are made anew
	has      [2]bool    // whether there are any, by family

	mu     sync.Mutex
	chains map[uint32][]string        // what is in the kernel, by farm
	lines  []string                   // all of it; nil while that is not known
	past   map[uint32]ctl.KernelCount // what was counted by rules that are no more
}

// New returns a filter that knows nothing of what the kernel has.
func New(run *iptables.Runner, log *slog.Logger) *Filter {
	return &Filter{run: run, log: log, past: map[uint32]ctl.KernelCount{}}
}

// Carry makes the kernel carry the farms of in and no others of ours; problems are
// those that are not carried, by ID.
func (p *Filter) Carry(ctx context.Context, in *rules.Input) (problems map[uint32]string, err error) {
	p.carrying.Lock()
	defer p.carrying.Unlock()
	return carry.Most(in, p.log, func(left *rules.Input) (problems, refused map[uint32]string, err error) {
		scripts, problems := compile(left)
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

// Rules is what is in the kernel for a farm: the lines of the chains of the farm and of its
// backends, and those that lead to them.
func (p *Filter) Rules(ctx context.Context, farm uint32) (string, error) {
	p.mu.Lock()
	mine := p.chains[farm]
	p.mu.Unlock()
	lines, err := p.run.Lines(ctx)
	lines = slices.DeleteFunc(lines, func(line string) bool {
		return !slices.ContainsFunc(strings.Fields(line), func(word string) bool { return slices.Contains(mine, word) })
	})
	return strings.Join(lines, "\n"), err
}

// Objects lists our rules.
func (p *Filter) Objects(ctx context.Context) (list []ctl.KernelObject, err error) {
	lines, err := p.run.Lines(ctx)
	for _, line := range lines {
		list = append(list, ctl.KernelObject{Kind: "iptables rule", Name: line})
	}
	return list, err
}

// remember notes which chains are whose, and what they are.
func (p *Filter) remember(ctx context.Context, scripts [2]*iptables.Script) {
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

// Check returns the farms of in that would not be carried and why, by ID.
func (p *Filter) Check(_ context.Context, in *rules.Input) map[uint32]string {
	_, problems := compile(in)
	return problems
}

// Doubt does nothing: Carry makes everything anew each time.
func (p *Filter) Doubt() {}

// Noted returns nothing: farms with limits are not carried.
func (p *Filter) Noted(context.Context) (map[uint32]time.Time, error) { return nil, nil }

// Fill does nothing.
func (p *Filter) Fill(context.Context, rules.Counted) error { return nil }

// Intact reports whether what was carried is still there: others flush their
// tables, or load them anew, and with them what is ours.
func (p *Filter) Intact(ctx context.Context) bool {
	lines, err := p.run.Lines(ctx)
	if err != nil {
		return true // nobody knows
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.lines == nil || slices.Equal(lines, p.lines) {
		return true
	}
	p.log.Warn("somebody changed rules of ours, they are made anew", "rules", len(lines), "were", len(p.lines))
	p.lines = nil
	return false
}
