package rounds

import (
	"context"
	"fmt"

	"github.com/sluicelb/sluice/bench/cases"
	"github.com/sluicelb/sluice/bench/report"
)

// datagrams runs a slice without the contestant and one with it. The cost is their
// difference for all processes together: packets sent by a proxy are received in its
// time, and its batching reduces the cost of others.
func (r *Runner) datagrams(ctx context.Context, c cases.Case, e *entrant, s *report.Slice) error {
	direct := *e
	direct.port = r.echoes.Port()
	var without report.Slice
	if err := r.own(ctx, c, &direct, &without, nil); err != nil {
		return fmt.Errorf("without a contestant: %w", err)
	}
	if without.Requests == 0 || without.Errors > 0 {
		return fmt.Errorf("without a contestant: %d answers, %d errors", without.Requests, without.Errors)
	}
	if err := r.own(ctx, c, e, s, nil); err != nil || s.Requests == 0 {
		return err
	}
	s.Direct = spent(&without)
	s.Value = spent(s) - s.Direct
	return nil
}

// spent returns the CPU time of a round trip for all processes, in microseconds.
func spent(s *report.Slice) float64 {
	return (s.Proxy + s.Client + s.Backend) * 1e6 / float64(s.Requests)
}
