package publish

import (
	"context"
	"net"
	"net/netip"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/sluicelb/sluice/core/link"
	"github.com/sluicelb/sluice/sysnet/ctl"
)

const (
	// dialPause is the time between attempts to reach an engine. The supervisor owns the
	// listening socket, so a dial usually waits for the next engine instead of failing.
	dialPause   = 50 * time.Millisecond
	dialTimeout = 10 * time.Second
	// retryPause is the retry interval for addresses that could not be opened.
	retryPause = 2 * time.Second
	// stopPause is the tolerance between the end of the engine and of mgmt when both were
	// stopped.
	stopPause = 500 * time.Millisecond
	// addressPause is the interval of checks for new addresses of waiting farms, for lost or
	// regained ones of kernel farms, and for a restart of netd.
	addressPause = 300 * time.Millisecond
)

// Run keeps the connection to the engine until ctx ends. It calls republish, which must publish
// the configuration in force, for each new engine, and when an address that could not be opened
// has become available.
func (p *Publisher) Run(ctx context.Context, republish func(context.Context) error) {
	var publications sync.WaitGroup
	defer publications.Wait()
	defer p.spares.retain(nil) // before the engine ends, so that clients are refused then
	for ctx.Err() == nil {
		engine, err := p.dial(ctx)
		if err != nil {
			p.options.Log.Debug("engine not reached", "error", err)
			pause(ctx, dialPause)
			continue
		}
		p.attach(engine)
		p.serve(ctx, engine, &publications, republish)
		p.gone(ctx)
		p.detach(engine)
		_ = engine.Close()
	}
}

func (p *Publisher) dial(ctx context.Context) (Engine, error) {
	ctx, cancel := context.WithTimeout(ctx, dialTimeout)
	defer cancel()
	return p.options.Dial(ctx)
}

// serve handles one engine until its connection ends. It does not wait for a publication in
// progress then, as that may be waiting for the next engine.
func (p *Publisher) serve(ctx context.Context, engine Engine, publications *sync.WaitGroup, republish func(context.Context) error) {
	ctx, cancel := untilDone(ctx, engine)
	defer cancel()
	var err error
	try := func() {
		done := make(chan error, 1)
		publications.Go(func() { done <- republish(ctx) })
		select {
		case err = <-done:
		case <-ctx.Done():
			return
		}
		if err != nil && ctx.Err() == nil {
			p.options.Log.Warn("configuration not published, trying again", "error", err)
		}
	}
	try()
	p.copyHeld(ctx)
	netd := p.options.Netd.Connection(ctx)
	p.regain(ctx) // netd may have restarted before
	retry, address := time.NewTicker(retryPause), time.NewTicker(addressPause)
	defer retry.Stop()
	defer address.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-address.C:
			if now := p.options.Netd.Connection(ctx); now != netd {
				netd = now
				p.regain(ctx)
			}
			if err == nil && (p.arrived() && p.available(ctx) || p.strayed(ctx)) {
				try()
			}
		case <-retry.C:
			p.regain(ctx)
			p.copyHeld(ctx)
			if err != nil || p.available(ctx) {
				try()
			}
		}
	}
}

// untilDone returns a context that ends with the connection to the engine.
func untilDone(ctx context.Context, engine Engine) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	go func() {
		select {
		case <-engine.Done():
			cancel()
		case <-ctx.Done():
		}
	}()
	return ctx, cancel
}

// gone logs the end of an engine unless the appliance stops: then either may end first.
func (p *Publisher) gone(ctx context.Context) {
	time.AfterFunc(stopPause, func() {
		if ctx.Err() == nil {
			p.options.Log.Warn("engine is gone")
		}
	})
}

// arrived reports whether this machine has an address of one of the sockets that could not be
// opened. It returns early if there are none.
func (p *Publisher) arrived() bool {
	p.mu.Lock()
	pending := p.pending
	p.mu.Unlock()
	if len(pending) == 0 {
		return false
	}
	list, err := net.InterfaceAddrs()
	if err != nil {
		return false // the next retry reports it
	}
	here := map[netip.Addr]bool{}
	for _, a := range list {
		if prefix, is := a.(*net.IPNet); is {
			if addr, ok := netip.AddrFromSlice(prefix.IP); ok {
				here[addr.Unmap()] = true
			}
		}
	}
	return slices.ContainsFunc(pending, func(key string) bool {
		_, at, ok := ctl.ParseKey(key)
		return ok && here[at.Addr()]
	})
}

// available reports whether an address that could not be opened can be opened now. netd keeps
// it open, and the publication that follows gets the same sockets.
func (p *Publisher) available(ctx context.Context) bool {
	p.mu.Lock()
	pending, loops := p.pending, p.hello.Loops
	p.mu.Unlock()
	found := false
	for _, key := range pending {
		files, err := p.open(ctx, key, loops)
		if err != nil {
			continue
		}
		closeAll(files)
		found = true
	}
	return found
}

func (p *Publisher) attach(engine Engine) {
	hello := engine.Hello()
	p.mu.Lock()
	defer p.mu.Unlock()
	p.engine, p.hello, p.holds = engine, hello, p.held.of([][]string{hello.Listeners})
	close(p.attached)
	p.log(hello)
}

func (p *Publisher) log(h link.Hello) {
	p.options.Log.Info("engine connected", "pid", h.PID, "loops", h.Loops, "generation", h.Generation, "listeners", len(h.Listeners))
}

func (p *Publisher) detach(engine Engine) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.engine == engine {
		p.engine, p.holds = nil, keySet{}
		p.attached = make(chan struct{})
	}
}

func pause(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}

func closeAll(files []*os.File) {
	for _, f := range files {
		_ = f.Close()
	}
}
