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
	"github.com/sluicelb/sluice/sysnet/ctl"
)

// Kernel installs farms as packet filter rules; *ctl.Client implements it.
type Kernel interface {
	KernelApply(ctx context.Context, snapshot *os.File) (ctl.KernelState, error)
	KernelCheck(ctx context.Context, snapshot *os.File) (ctl.KernelState, error)
	KernelState(ctx context.Context) (ctl.KernelState, error)
}

const (
	// kernelTime bounds a change of rules; ten thousand backends take a second.
	kernelTime = 25 * time.Second
	// kernelAskTime bounds a query of the installed farms.
	kernelAskTime = 2 * time.Second
	// strayAskTime is shorter because the caller must also notice the end of the engine.
	strayAskTime = 500 * time.Millisecond
)

// carried is the state that netd was last asked to install in the kernel.
type carried struct {
	farms []farm.Farm
	// known is false while the state of netd is unknown: at the start and after an error.
	known bool
	state ctl.KernelState
}

// carry has netd install the kernel farms of cfg unless they are already installed. It returns
// the problems of farms that could not be installed, by farm ID.
func (p *Publisher) carry(ctx context.Context, generation uint64, cfg *farm.Config) map[uint32]string {
	farms := p.ofKernel(cfg)
	p.mu.Lock()
	now := p.kernel
	p.mu.Unlock()
	if sameFarms(now.farms, farms) && p.stillCarried(ctx, now) {
		return now.state.Problems
	}
	next := carried{farms: farms}
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

// kernelFarm is a farm that netd needs, or the zero value.
type kernelFarm struct {
	needed bool
	farm   farm.Farm
}

// ofKernel returns the farms that netd needs: kernel farms, and transparent ones, whose return
// traffic netd routes to the engine. p.turn is held.
func (p *Publisher) ofKernel(cfg *farm.Config) (farms []farm.Farm) {
	all := p.kernelFarms.Of(cfg.Farms, func(f *farm.Farm) kernelFarm {
		if !f.InKernel() && !f.Transparent() {
			return kernelFarm{}
		}
		return kernelFarm{true, reached(*f)}
	})
	for i := range all {
		if all[i].needed {
			farms = append(farms, all[i].farm)
		}
	}
	return farms
}

// sameFarms reports whether two lists are equal. Farms that share their settings cost one
// comparison.
func sameFarms(a, b []farm.Farm) bool {
	return slices.EqualFunc(a, b, func(a, b farm.Farm) bool { return a.Same(&b) || reflect.DeepEqual(a, b) })
}

// reached returns f without the backends that have no address: no rule is possible for them.
func reached(f farm.Farm) farm.Farm {
	unknown := func(b farm.Backend) bool { return !b.Addr.IsValid() }
	if slices.ContainsFunc(f.Own().Backends(), unknown) {
		f = f.Clone()
		f.Own().SetBackends(slices.DeleteFunc(f.Own().Backends(), unknown))
	}
	return f
}

// stillCarried reports whether netd still has the farms of now installed.
func (p *Publisher) stillCarried(ctx context.Context, now carried) bool {
	if !now.known || len(now.farms) == 0 {
		return now.known
	}
	ctx, cancel := context.WithTimeout(ctx, kernelAskTime)
	defer cancel()
	state, err := p.options.Kernel.KernelState(ctx)
	return err == nil && state.Generation == now.state.Generation && maps.Equal(state.Problems, now.state.Problems)
}

// failAll returns err as the problem of every started kernel farm.
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
	state, err := p.send(ctx, generation, farms, p.options.Kernel.KernelApply)
	if err == nil && state.Generation != generation {
		err = fmt.Errorf("netd answered for generation %d instead of %d", state.Generation, generation)
	}
	return state, err
}

// send sends netd a snapshot of the farms: the differences from the one before, or a whole one
// if netd cannot use those, e.g. after a restart. p.turn is held.
func (p *Publisher) send(ctx context.Context, generation uint64, farms []farm.Farm, ask func(context.Context, *os.File) (ctl.KernelState, error)) (ctl.KernelState, error) {
	base := p.kernelRead
	p.kernelRead = 0
	state, err := p.sendAfter(ctx, base, generation, farms, ask)
	if refused := new(ctl.Error); base != 0 && errors.As(err, &refused) {
		state, err = p.sendAfter(ctx, 0, generation, farms, ask)
	}
	if err == nil {
		p.kernelRead = generation
	}
	return state, err
}

// sendAfter is send of a snapshot that follows base, of a whole one if that is 0.
func (p *Publisher) sendAfter(ctx context.Context, base, generation uint64, farms []farm.Farm, ask func(context.Context, *os.File) (ctl.KernelState, error)) (ctl.KernelState, error) {
	file, err := p.kernelWriter.Publish(generation, &farm.Config{Farms: farms}, base)
	if err != nil {
		return ctl.KernelState{}, err
	}
	defer file.Close()
	ctx, cancel := context.WithTimeout(ctx, kernelTime)
	defer cancel()
	return ask(ctx, file)
}

// strayed reports whether netd has other farms installed than expected: because it restarted,
// or because its list of problems changed. The caller then publishes again. It returns false
// during a publication, because that changes both the installed and the expected rules.
func (p *Publisher) strayed(ctx context.Context) bool {
	if p.publishing() {
		return false
	}
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
	if p.publishing() {
		return false
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.kernel.known && p.kernel.state.Generation != now.state.Generation {
		return false // published since
	}
	p.kernel.known = false
	return true
}

// publishing reports whether a publication or check is in progress.
func (p *Publisher) publishing() bool { return len(p.turn) > 0 }
