package rounds

import (
	"context"
	"errors"
	"fmt"

	"github.com/sluicelb/sluice/bench/cases"
	"github.com/sluicelb/sluice/bench/measure"
	"github.com/sluicelb/sluice/bench/peers"
	"github.com/sluicelb/sluice/bench/report"
)

// throughput runs interleaved rounds, with several starts of the contestants.
func (r *Runner) throughput(ctx context.Context, c cases.Case, line []peers.Contestant) ([]report.Round, error) {
	var out []report.Round
	total := r.total(c)
	starts := min(r.opts.Restarts, total)
	for n := range starts {
		// Rounds are distributed evenly: 7 over 3 starts are 2, 2 and 3.
		first, last := total*n/starts, total*(n+1)/starts
		rounds, err := r.group(ctx, c, line, n+1, first, last)
		out = append(out, rounds...)
		if err != nil {
			return out, err
		}
	}
	return out, nil
}

// total returns the number of rounds of a case.
func (r *Runner) total(c cases.Case) int {
	if c.Rounds > 0 {
		return min(r.opts.Rounds, c.Rounds)
	}
	return r.opts.Rounds
}

// group runs the rounds first … last-1 with one start of the contestants.
func (r *Runner) group(ctx context.Context, c cases.Case, line []peers.Contestant, restart, first, last int) (out []report.Round, err error) {
	entrants, err := r.startAll(ctx, c, line)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, stopAll(entrants)) }()
	for _, e := range entrants {
		if e.absent != nil {
			continue
		}
		if err := alone(c, e); err != nil {
			return nil, err
		}
	}
	for n := first; n < last; n++ {
		round := report.Round{Number: n + 1, Restart: restart}
		for i := range entrants {
			e := entrants[i]
			if n%2 == 1 {
				e = entrants[len(entrants)-1-i]
			}
			if err := ctx.Err(); err != nil {
				return out, err
			}
			if e.absent != nil {
				s := report.Slice{Contestant: e.Name}
				fail(&s, e.absent)
				round.Slices = append(round.Slices, s)
				continue
			}
			s := r.slice(ctx, c, e)
			if n == last-1 && s.Reason == "" {
				s.After = memory(e)
			}
			round.Foreign = max(round.Foreign, s.Foreign)
			round.Slices = append(round.Slices, s)
			r.show(c, round.Number, s)
			r.explain(ctx, s, e)
		}
		out = append(out, round)
	}
	if last == r.total(c) {
		r.countCalls(ctx, c, entrants, out[len(out)-1].Slices)
	}
	return out, nil
}

// alone checks that only the contestant listens on its port.
func alone(c cases.Case, e *entrant) error {
	tree, err := e.Tree()
	if err != nil {
		return err
	}
	check := measure.OnlyListeners
	if c.Window > 0 {
		check = measure.OnlyReceivers
	}
	if err := check(e.port, tree); err != nil {
		return fmt.Errorf("%s: %w", e.Name, err)
	}
	return nil
}

func memory(e *entrant) int64 {
	tree, err := e.Tree()
	if err != nil {
		return 0
	}
	n, err := measure.Pss(tree)
	if err != nil {
		return 0
	}
	return n
}

func (r *Runner) show(c cases.Case, round int, s report.Slice) {
	if s.Reason != "" {
		r.progress("%-18s round %d  %-13s does not count: %s", c.Name, round, s.Contestant, s.Reason)
		return
	}
	unit := (&report.Case{Case: c}).ValueUnit()
	r.progress("%-18s round %d  %-13s %8.2f %-14s %8.0f req/s  p99 %6.0f µs  proxy %.2f client %.2f backend %.2f foreign %.2f",
		c.Name, round, s.Contestant, s.Value, unit, float64(s.Requests)/max(s.Seconds, 1e-9), s.Latency.P99,
		s.Proxy/max(s.Seconds, 1e-9), s.Client/max(s.Seconds, 1e-9), s.Backend/max(s.Seconds, 1e-9), s.Foreign)
}

// explain prints the end of a contestant's output if its slice does not count, because it
// often contains the reason.
func (r *Runner) explain(ctx context.Context, s report.Slice, e *entrant) {
	if s.Reason != "" && ctx.Err() == nil {
		r.progress("%s printed:\n%s", e.Name, tail(e.log))
	}
}
