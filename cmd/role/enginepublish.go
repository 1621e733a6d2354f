package role

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/core/link"
	"github.com/sluicelb/sluice/core/snapshot"
	"github.com/sluicelb/sluice/l4/forward"
	"github.com/sluicelb/sluice/l7/proxy"
)

// The engine is two on the same loops: one for http farms, one for l4xnat farms
// of userspace. Each ignores the farms of the other.

// Publish implements link.Handler. What does not check out changes nothing, in
// neither of the two: the plan of one is made before the other changes, and
// cannot fail after it did.
func (e *engine) Publish(file *os.File, opened map[string][]*os.File) link.Ack {
	if opened == nil {
		opened = map[string][]*os.File{} // hand adds to it
	}
	defer closeAll(opened)
	generation, cfg, err := snapshot.Load(file)
	if err != nil {
		return e.refuse(generation, err)
	}
	if held := e.proxy.Generation(); generation <= held {
		return e.refuse(generation, fmt.Errorf("generation %d is not newer than %d, which is in use", generation, held))
	}
	e.hand(cfg, opened)
	plan, err := e.forward.Prepare(generation, cfg)
	if err != nil {
		return e.refuse(generation, err)
	}
	problems, err := e.proxy.Publish(generation, cfg, opened)
	if err != nil {
		plan.Discard()
		return e.refuse(generation, err)
	}
	maps.Copy(problems, plan.Commit(opened))
	e.memory.Retain(append(proxy.SessionOwners(cfg), forward.SessionOwners(cfg)...)...)
	e.page.SetAcknowledged(generation)
	return link.Ack{Generation: generation, Farms: problems, Listeners: e.listeners()}
}

// hand adds to the sockets that came those of addresses that go from one of the
// two to the other: mgmt knows only that the engine has them.
func (e *engine) hand(cfg *farm.Config, opened map[string][]*os.File) {
	http, l4 := e.proxy.Listeners(), e.forward.Listeners()
	for i := range cfg.Farms {
		f := &cfg.Farms[i]
		if f.Stopped {
			continue
		}
		has, other, from := http, l4, e.forward.Sockets
		if f.L4 != nil {
			has, other, from = l4, http, e.proxy.Sockets
		}
		for _, l := range f.Listeners() {
			if key := l.Key(); opened[key] == nil && !slices.Contains(has, key) && slices.Contains(other, key) {
				opened[key] = from(key)
			}
		}
	}
}

// listeners are those of both.
func (e *engine) listeners() []string {
	keys := append(e.proxy.Listeners(), e.forward.Listeners()...)
	slices.Sort(keys)
	return slices.Compact(keys)
}

// drain lets both end what is under way at once.
func (e *engine) drain(grace time.Duration) {
	var wg sync.WaitGroup
	wg.Go(func() { e.forward.Drain(grace) })
	e.proxy.Drain(grace)
	wg.Wait()
	e.proxy.Close()
	e.forward.Close()
}
