package rounds

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/sluicelb/sluice/bench/cases"
	"github.com/sluicelb/sluice/bench/launch"
	"github.com/sluicelb/sluice/bench/report"
	"github.com/sluicelb/sluice/bench/witness"
)

// mostLeftOut is the maximum share of requests excluded because of stalls. Above it, the
// slice measures the machine and not the contestant.
const mostLeftOut = 0.3

// witnessed is own with a witness on each CPU. Requests affected by a stall are excluded
// from the latency.
func (r *Runner) witnessed(ctx context.Context, c cases.Case, e *entrant, s *report.Slice, beside []*launch.Process) error {
	watch, err := r.watch()
	if err != nil {
		return err
	}
	err = r.own(ctx, c, e, s, append(slices.Clone(beside), watch...))
	stalls, stopErr := testimony(watch)
	if err = errors.Join(err, stopErr); err != nil {
		return err
	}
	s.Sift(stalls)
	if s.LeftOut > mostLeftOut {
		return fmt.Errorf("the machine stood still during %.0f %% of the requests", s.LeftOut*100)
	}
	return nil
}

// watch starts a witness on each CPU of the bench.
func (r *Runner) watch() (all []*launch.Process, err error) {
	cpus := []int{r.opts.ProxyCPU, r.opts.ClientCPU, r.opts.BackendCPU}
	slices.Sort(cpus)
	for _, cpu := range slices.Compact(cpus) {
		p, err := self(cpu, "witness")
		if err != nil {
			for _, started := range all {
				err = errors.Join(err, started.Stop())
			}
			return nil, fmt.Errorf("witness: %w", err)
		}
		all = append(all, p)
	}
	return all, nil
}

// testimony ends the witnesses and merges their stalls.
func testimony(all []*launch.Process) (stalls []witness.Stall, err error) {
	for _, p := range all {
		_ = p.In.Close()
		seen, e := within(5*time.Second, func() (t witness.Testimony, err error) {
			return t, readLine(bufio.NewReader(p.Out), &t)
		})
		if e == nil && seen.Missed > 0 {
			e = fmt.Errorf("%d stalls too many to list", seen.Missed)
		}
		if e != nil {
			e = fmt.Errorf("witness: %w", e)
		}
		stalls = append(stalls, seen.Stalls...)
		err = errors.Join(err, e, p.Stop())
	}
	return stalls, err
}
