package rounds

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/sluicelb/sluice/bench/cases"
	"github.com/sluicelb/sluice/bench/peers"
	"github.com/sluicelb/sluice/bench/report"
)

// rested is how long after its start a contestant is at rest: some give back
// then what only their start needed, Sluice after five seconds.
const rested = 10 * time.Second

// rest compares the memory of contestants nobody has asked for anything.
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
