package rounds

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/sluicelb/sluice/bench/cases"
	"github.com/sluicelb/sluice/bench/load"
	"github.com/sluicelb/sluice/bench/measure"
	"github.com/sluicelb/sluice/bench/peers"
	"github.com/sluicelb/sluice/bench/report"
)

// settle is the pause after a crowd has connected or left.
const settle = time.Second

// idle compares the memory of idle connections.
func (r *Runner) idle(ctx context.Context, c cases.Case, line []peers.Contestant) ([]report.Round, error) {
	return r.fresh(ctx, c, line, r.holding, func(s report.Slice) string {
		return fmt.Sprintf("%8.0f B/connection, %.1f MiB before, %.1f MiB with %d connections", s.Value, float64(s.Before)/(1<<20), float64(s.After)/(1<<20), c.Connections)
	})
}

// fresh runs each slice of a round with a fresh contestant, alone, because used memory is
// rarely returned. told formats a slice.
func (r *Runner) fresh(ctx context.Context, c cases.Case, line []peers.Contestant,
	do func(context.Context, cases.Case, peers.Contestant, *report.Slice) error, told func(report.Slice) string) ([]report.Round, error) {
	var out []report.Round
	for n := range min(r.opts.Rounds, c.Rounds) {
		round := report.Round{Number: n + 1, Restart: n + 1}
		for i := range line {
			who := line[i]
			if n%2 == 1 {
				who = line[len(line)-1-i]
			}
			s := report.Slice{Contestant: who.Name}
			if err := do(ctx, c, who, &s); err != nil {
				fail(&s, err)
			}
			if err := ctx.Err(); err != nil {
				return out, err
			}
			round.Slices = append(round.Slices, s)
			r.progress("%-18s round %d  %-13s %s %s", c.Name, round.Number, who.Name, told(s), s.Reason)
		}
		out = append(out, round)
	}
	return out, nil
}

// holding measures the memory of a fresh contestant without and with connections.
func (r *Runner) holding(ctx context.Context, c cases.Case, who peers.Contestant, s *report.Slice) (err error) {
	e, err := r.start(ctx, c, who)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			s.Reason = err.Error()
			r.explain(ctx, *s, e)
		}
		err = errors.Join(err, e.stop())
	}()
	if err := alone(c, e); err != nil {
		return err
	}
	spec := r.spec(c, e)
	spec.Parallel = 16 // idle clients need no backend connection each
	if err := r.atWork(ctx, spec, e); err != nil {
		return err
	}
	if s.Before, err = settled(ctx, e, settle); err != nil {
		return err
	}
	client, _, err := r.warm(spec, r.opts.ClientCPU)
	if err != nil {
		return err
	}
	defer client.Stop()
	if s.After, err = settled(ctx, e, settle); err != nil {
		return err
	}
	if open, err := measure.Established(e.port); err != nil || open < c.Connections {
		return errors.Join(err, fmt.Errorf("only %d of %d connections are still open", open, c.Connections))
	}
	s.Requests = uint64(c.Connections)
	s.Value = float64(s.After-s.Before) / float64(c.Connections)
	return nil
}

// atWork waits until a contestant has completed its start and serves some clients, whose
// memory does not count for connections.
func (r *Runner) atWork(ctx context.Context, spec load.Spec, e *entrant) error {
	if _, err := settled(ctx, e, rested); err != nil {
		return err
	}
	spec.Connections = spec.Parallel
	client, _, err := r.warm(spec, r.opts.ClientCPU)
	if err != nil {
		return err
	}
	return client.Stop()
}

// settled returns the memory of a contestant after a pause.
func settled(ctx context.Context, e *entrant, after time.Duration) (int64, error) {
	select {
	case <-ctx.Done():
		return 0, ctx.Err()
	case <-time.After(after):
	}
	tree, err := e.Tree()
	if err != nil {
		return 0, err
	}
	return measure.Pss(tree)
}

// rested is the time after which a contestant is at rest. Some return memory of their
// start by then, Sluice after five seconds.
const rested = 10 * time.Second

// rest compares the memory of contestants without any request.
func (r *Runner) rest(ctx context.Context, c cases.Case, line []peers.Contestant) ([]report.Round, error) {
	return r.fresh(ctx, c, line, r.resting, func(s report.Slice) string { return fmt.Sprintf("%8.1f MiB at rest", s.Value) })
}

func (r *Runner) resting(ctx context.Context, c cases.Case, who peers.Contestant, s *report.Slice) (err error) {
	e, err := r.start(ctx, c, who)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, e.stop()) }()
	if s.After, err = settled(ctx, e, rested); err != nil {
		return err
	}
	s.Value = float64(s.After) / (1 << 20)
	return nil
}
