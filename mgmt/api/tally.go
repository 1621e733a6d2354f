package api

import (
	"context"
	"slices"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/core/stats"
)

// tally is where the counters of one answer come from: the segment of the
// engine, and for farms the kernel carries what netd said.
type tally struct {
	engine  Counters
	kernel  stats.Traffic
	warning string
}

// tally asks netd once, if one of the farms is carried by the kernel. While it
// does not answer, counters of these are zero and the answer says so.
func (s *Server) tally(ctx context.Context, farms []farm.Farm) tally {
	t := tally{engine: s.deps.Counters}
	if s.deps.Traffic == nil || !slices.ContainsFunc(farms, func(f farm.Farm) bool { return f.InKernel() }) {
		return t
	}
	var err error
	if t.kernel, err = s.deps.Traffic(ctx); err != nil {
		s.deps.Log.Debug("counters of the kernel not shown", "cause", err)
		t.warning = "netd does not answer: counters of farms the kernel carries are not known"
	}
	return t
}

func (t tally) farm(f *farm.Farm) stats.Farm {
	if f.InKernel() {
		return t.kernel.Farms[f.ID]
	}
	return t.engine.SumFarm(f.ID)
}

func (t tally) backend(f *farm.Farm, id uint32) stats.Backend {
	if f.InKernel() {
		return t.kernel.Backends[id]
	}
	return t.engine.SumBackend(id)
}
