package kernel

import (
	"context"
	"errors"
	"os"
	"sync"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/core/snapshot"
	"github.com/sluicelb/sluice/sysnet/ctl"
)

// Parts returns the operations the reconciler serves to mgmt. A snapshot is verified and
// checked like the engine's. Rules are only built here, from its typed values.
func (k *Reconciler) Parts() ctl.Parts {
	r := new(reader)
	return ctl.Parts{
		ctl.OpKernelApply:    r.answered(k.Apply),
		ctl.OpKernelCheck:    r.answered(func(ctx context.Context, _ uint64, cfg *farm.Config) map[uint32]string { return k.Check(ctx, cfg) }),
		ctl.OpKernelState:    about(func(context.Context, struct{}) (ctl.KernelState, error) { return k.state(), nil }),
		ctl.OpKernelRules:    about(func(ctx context.Context, q ctl.KernelFarm) (string, error) { return k.Rules(ctx, q.Farm) }),
		ctl.OpKernelObjects:  about(func(ctx context.Context, _ struct{}) ([]ctl.KernelObject, error) { return k.Objects(ctx) }),
		ctl.OpKernelTraffic:  about(func(ctx context.Context, _ struct{}) (ctl.KernelTraffic, error) { return k.Traffic(ctx) }),
		ctl.OpKernelSessions: about(k.answerSessions),
		ctl.OpKernelSession:  about(k.answerSession),
		ctl.OpKernelChange:   about(k.answerChange),
		ctl.OpKernelLearn:    k.answerLearn,
	}
}

// about is ctl.About for queries about farms that may not exist.
func about[Q, A any](f func(context.Context, Q) (A, error)) ctl.Handler {
	return ctl.About(func(ctx context.Context, q Q) (A, error) {
		a, err := f(ctx, q)
		switch {
		case errors.Is(err, ErrNoFarm), errors.Is(err, errNoTable), errors.Is(err, errNoBackend):
			err = &ctl.Error{Code: ctl.CodeInvalid, Text: err.Error()}
		}
		return a, err
	})
}

// maxListed limits the sessions in one response.
const maxListed = 100_000

func (k *Reconciler) answerSessions(ctx context.Context, q ctl.KernelQuestion) (out ctl.KernelSessions, err error) {
	out.Total, out.List, err = k.Sessions(ctx, q.Service, min(max(q.Limit, 0), maxListed))
	if errors.Is(err, ErrNoFarm) {
		return ctl.KernelSessions{}, nil // the farm keeps no sessions
	}
	return out, err
}

func (k *Reconciler) answerSession(ctx context.Context, q ctl.KernelQuestion) (out ctl.KernelSessions, err error) {
	s, ok, err := k.Session(ctx, q.Service, q.Key)
	if ok {
		out.Total, out.List = 1, []ctl.KernelSession{s}
	}
	return out, err
}

func (k *Reconciler) answerChange(ctx context.Context, c ctl.KernelChange) (int, error) {
	switch c.Act {
	case ctl.KernelAdd:
		if err := k.AddSession(ctx, c.Service, c.Key, c.Backend, c.TTL); err != nil {
			return 0, err
		}
		return 1, nil
	case ctl.KernelDelete:
		was, err := k.DeleteSession(ctx, c.Service, c.Key)
		if !was {
			return 0, err
		}
		return 1, err
	case ctl.KernelFlush:
		return k.FlushSessions(ctx, c.Service)
	}
	return 0, &ctl.Error{Code: ctl.CodeInvalid, Text: "sessions are added, deleted or flushed"}
}

func (k *Reconciler) answerLearn(ctx context.Context, _ []byte, files []*os.File) (any, error) {
	learned, err := ctl.OpenLearned(files)
	if err != nil {
		return nil, err
	}
	return k.LearnSessions(ctx, learned.Service, learned.List)
}

// reader reads snapshots. Most of them contain only the differences from the previous snapshot.
type reader struct {
	mu sync.Mutex
	snapshot.Reader
}

// Load returns the content of a snapshot. Unchanged farms share
// memory with the previous snapshot.
func (r *reader) Load(f *os.File) (generation uint64, cfg *farm.Config, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.Reader.Load(f)
}

// answered returns a handler that calls f with the snapshot of a request and responds with
// the problems f returns.
func (r *reader) answered(f func(ctx context.Context, generation uint64, cfg *farm.Config) map[uint32]string) ctl.Handler {
	return func(ctx context.Context, body []byte, files []*os.File) (any, error) {
		if err := ctl.Strict(body, &struct{}{}); err != nil {
			return nil, err
		}
		if len(files) != 1 {
			return nil, &ctl.Error{Code: ctl.CodeInvalid, Text: "a snapshot is expected, and nothing else"}
		}
		generation, cfg, err := r.Load(files[0])
		if err != nil {
			return nil, &ctl.Error{Code: ctl.CodeInvalid, Text: err.Error()}
		}
		return ctl.KernelState{Generation: generation, Problems: f(ctx, generation, cfg)}, nil
	}
}
