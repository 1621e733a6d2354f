package iptables

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/sluicelb/sluice/l4/kernel/carry"
	"github.com/sluicelb/sluice/l4/kernel/rules"
	"github.com/sluicelb/sluice/sysnet/ctl"
	"github.com/sluicelb/sluice/sysnet/iptables"
)

// Filter keeps our chains equal to the compiled ones. It carries nat and dnat; other
// features are a problem of the farm. Make it with New. Carry and Intact are called by one
// goroutine at a time, the other methods by any.
type Filter struct {
	run *iptables.Runner
	log *slog.Logger

	carrying sync.Mutex // held while rules are rebuilt
	has      [2]bool    // whether there are rules, by address family

	mu     sync.Mutex
	chains map[uint32][]string        // in the kernel, by farm
	lines  []string                   // all rules, nil if unknown
	past   map[uint32]ctl.KernelCount // counters of deleted rules
}

// New returns a filter that does not know the kernel's rules.
func New(run *iptables.Runner, log *slog.Logger) *Filter {
	return &Filter{run: run, log: log, past: map[uint32]ctl.KernelCount{}}
}

// Carry makes the kernel carry exactly the farms of in. problems holds the farms that are
// not carried, by ID.
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
				if family == 1 && refused == nil && len(script.Table("nat").Chains) == 0 && !p.has[family] {
					continue // a kernel without IPv6, and no IPv6 farm
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

// Rules returns a farm's rules in the kernel: the chains of the farm and its backends, and
// the rules that lead to them.
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

// remember stores the chains of each farm and their rules.
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

// Remembered returns Flushed of the input whose chains the kernel has. Cut matters in packet
// modes only, which iptables does not carry.
func (p *Filter) Remembered(ctx context.Context) (flushed, cut map[uint32]bool, err error) {
	lines, err := p.run.Lines(ctx)
	if err != nil {
		return nil, nil, err
	}
	flushed = map[uint32]bool{}
	for _, line := range lines {
		_, rule, _ := strings.Cut(line, "-A "+ownChain(farmPrefix))
		number, rule, _ := strings.Cut(rule, " ")
		if id, err := strconv.ParseUint(number, 10, 32); err == nil && strings.HasPrefix(rule, "-p tcp ") && strings.HasSuffix(rule, " -j RETURN") {
			flushed[uint32(id)] = true
		}
	}
	return flushed, nil, nil
}

// Check returns the farms of in that would not be carried, with the reasons, by ID.
func (p *Filter) Check(_ context.Context, in *rules.Input) map[uint32]string {
	_, problems := compile(in)
	return problems
}

// Doubt does nothing: Carry always rebuilds everything.
func (p *Filter) Doubt() {}

// Resets returns 0: farms with limits are not carried.
func (p *Filter) Resets() uint64 { return 0 }

// Noted returns nothing: farms with limits are not carried.
func (p *Filter) Noted(context.Context) (map[uint32]time.Time, error) { return nil, nil }

// Fill does nothing.
func (p *Filter) Fill(context.Context, rules.Counted) error { return nil }

// Intact reports whether the loaded rules are still there: others may flush or reload their
// tables, which affects ours.
func (p *Filter) Intact(ctx context.Context) bool {
	lines, err := p.run.Lines(ctx)
	if err != nil {
		return true // unknown
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
