package publish

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"reflect"
	"slices"
	"time"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/core/snapshot"
	"github.com/sluicelb/sluice/sysnet/ctl"
)

// Kernel carries farms by rules of the packet filter; *ctl.Client is one.
type Kernel interface {
	KernelApply(ctx context.Context, snapshot *os.File) (ctl.KernelState, error)
	KernelCheck(ctx context.Context, snapshot *os.File) (ctl.KernelState, error)
	KernelState(ctx context.Context) (ctl.KernelState, error)
}

const (
	// kernelTime bounds a change of rules; ten thousand backends take a second.
	kernelTime = 25 * time.Second
	// kernelAskTime bounds a look at what is carried.
	kernelAskTime = 2 * time.Second
	// strayAskTime is shorter, because the caller also has to notice the end of the engine.
	strayAskTime = 500 * time.Millisecond
)

// carried is what netd was told to have the kernel carry.
type carried struct {
	farms []farm.Farm
	// known is false while it is not known what netd does: at the beginning,
	// and after an error.
	known bool
	state ctl.KernelState
}

// carry has netd make the kernel carry the kernel farms of cfg, unless it does
// already. What comes back are farms that are not carried, by ID.
func (p *Publisher) carry(ctx context.Context, generation uint64, cfg *farm.Config) map[uint32]string {
	farms := ofKernel(cfg)
	p.mu.Lock()
	now := p.kernel
	p.mu.Unlock()
	if reflect.DeepEqual(now.farms, farms) && p.stillCarried(ctx, now) {
		return now.state.Problems
	}
	next := carried{farms: (&farm.Config{Farms: farms}).Clone().Farms}
	state, err := p.kernelApply(ctx, generation, farms)
	problems := state.Problems
	if err != nil {
		problems = failAll(farms, err)
	} else {
		next.known, next.state = true, state
	}
	p.mu.Lock()
	p.kernel = next
	p.mu.Unlock()
	return problems
}

// ofKernel are the farms netd is told of: of transparent ones it leads answers
// to the engine.
func ofKernel(cfg *farm.Config) (farms []farm.Farm) {
	for i := range cfg.Farms {
		if cfg.Farms[i].InKernel() || cfg.Farms[i].Transparent() {
			farms = append(farms, reached(cfg.Farms[i]))
		}
	}
	return farms
}

// reached leaves out the backends without an address: there is no rule for them.
func reached(f farm.Farm) farm.Farm {
	unknown := func(b farm.Backend) bool { return !b.Addr.IsValid() }
	if slices.ContainsFunc(f.Own().Backends(), unknown) {
		f = f.Clone()
		f.Own().SetBackends(slices.DeleteFunc(f.Own().Backends(), unknown))
	}
	return f
}

// stillCarried reports whether netd has the kernel carry what it was told.
func (p *Publisher) stillCarried(ctx context.Context, now carried) bool {
	if !now.known || len(now.farms) == 0 {
		return now.known
	}
	ctx, cancel := context.WithTimeout(ctx, kernelAskTime)
	defer cancel()
	state, err := p.options.Kernel.KernelState(ctx)
	return err == nil && state.Generation == now.state.Generation && maps.Equal(state.Problems, now.state.Problems)
}

// failAll makes err the problem of every farm that is to run.
func failAll(farms []farm.Farm, err error) map[uint32]string {
	reason := err.Error()
	var refused *ctl.Error
	if errors.As(err, &refused) {
		reason = refused.Text
	}
	out := map[uint32]string{}
	for i := range farms {
		if !farms[i].Stopped && farms[i].InKernel() {
			out[farms[i].ID] = "the kernel cannot carry it: " + reason
		}
	}
	return out
}

func (p *Publisher) kernelApply(ctx context.Context, generation uint64, farms []farm.Farm) (ctl.KernelState, error) {
	if p.options.Kernel == nil {
		return ctl.KernelState{}, errors.New("there is no netd to ask")
	}
	state, err := told(ctx, generation, farms, p.options.Kernel.KernelApply)
	if err == nil && state.Generation != generation {
		err = fmt.Errorf("netd answered for generation %d instead of %d", state.Generation, generation)
	}
	return state, err
}

// told sends netd a snapshot of the farms.
func told(ctx context.Context, generation uint64, farms []farm.Farm, ask func(context.Context, *os.File) (ctl.KernelState, error)) (ctl.KernelState, error) {
	file, err := snapshot.Publish(generation, &farm.Config{Farms: farms})
	if err != nil {
		return ctl.KernelState{}, err
	}
	defer file.Close()
	ctx, cancel := context.WithTimeout(ctx, kernelTime)
	defer cancel()
	return ask(ctx, file)
}

// strayed reports whether netd carries other farms than it was told to, because
// it is a new one, or carries more or fewer of them than it did. The
// publication that follows tells it again.
func (p *Publisher) strayed(ctx context.Context) bool {
	p.mu.Lock()
	now := p.kernel
	p.mu.Unlock()
	if p.options.Kernel == nil || now.known && len(now.farms) == 0 {
		return false
	}
	if !now.known {
		return true
	}
	ctx, cancel := context.WithTimeout(ctx, strayAskTime)
	defer cancel()
	state, err := p.options.Kernel.KernelState(ctx)
	if err != nil || (state.Generation == now.state.Generation && maps.Equal(state.Problems, now.state.Problems)) {
		return false
	}
	p.mu.Lock()
	p.kernel.known = false
	p.mu.Unlock()
	return true
}
