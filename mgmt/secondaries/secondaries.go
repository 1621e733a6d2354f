// Package secondaries tells the servers that copy zones of gslb farms when there is
// something to copy (NOTIFY, RFC 1996). They ask by themselves now and then; who is told
// does it at once.
package secondaries

import (
	"cmp"
	"context"
	"log/slog"
	"net"
	"net/netip"
	"slices"
	"sync"
	"time"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/core/rdata"
)

// Options are what a Teller stands on; the zero value is that of an appliance.
type Options struct {
	// Port is that of the servers; 0 means 53.
	Port uint16
	// Waits are the times between tries (RFC 1996 §3.6: five or so, each later than the
	// one before); nil means 1, 2, 4, 8 and 16 s.
	Waits []time.Duration
	// Patience is how long a server may take to answer; 0 means 2 s.
	Patience time.Duration
	Log      *slog.Logger // nil: nobody hears
}

const (
	standardPort = 53
	patience     = 2 * time.Second
	// atOnce bounds who is told at once.
	atOnce = 32
)

// Teller tells secondaries of changes. Its methods may be called by any goroutine.
type Teller struct {
	options Options
	ctx     context.Context
	turns   chan struct{}
	all     sync.WaitGroup

	mu    sync.Mutex
	under map[key]uint32 // the serial that is told, or waits to be
}

// key is one zone and one who is told of it.
type key struct {
	farm   uint32
	zone   string
	server netip.Addr
}

// New returns a Teller that ends with ctx; Wait waits for that.
func New(ctx context.Context, o Options) *Teller {
	o.Port = cmp.Or(o.Port, standardPort)
	o.Patience = cmp.Or(o.Patience, patience)
	if o.Waits == nil {
		o.Waits = []time.Duration{time.Second, 2 * time.Second, 4 * time.Second, 8 * time.Second, 16 * time.Second}
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return &Teller{options: o, ctx: ctx, turns: make(chan struct{}, atOnce), under: map[key]uint32{}}
}

// Wait returns when ctx has ended and nobody is told any more.
func (t *Teller) Wait() {
	<-t.ctx.Done()
	t.all.Wait()
}

// Changed tells of the zones whose serial differs: there is something to copy. old is the
// configuration that was in force before now.
func (t *Teller) Changed(old, now *farm.Config) {
	before := map[uint32]*farm.Farm{}
	for i := range old.Farms {
		before[old.Farms[i].ID] = &old.Farms[i]
	}
	for i := range now.Farms {
		f := &now.Farms[i]
		g := f.Zones()
		if g == nil || f.Stopped || len(g.Notified) == 0 {
			continue
		}
		for j := range g.Zones {
			z := &g.Zones[j]
			for _, server := range g.Notified {
				if !toldBefore(before[f.ID], z, server) {
					t.tell(f, z, server)
				}
			}
		}
	}
}

// toldBefore reports whether a server was to be told of the zone as it is.
func toldBefore(f *farm.Farm, z *farm.Zone, server netip.Addr) bool {
	if f == nil || f.Stopped || f.Zones() == nil {
		return false
	}
	was := f.Zones().Zone(z.Name)
	return was != nil && was.Serial == z.Serial && slices.Contains(f.Zones().Notified, server)
}

// tell has a server told, by who tells it of that zone already if somebody does.
func (t *Teller) tell(f *farm.Farm, z *farm.Zone, server netip.Addr) {
	k := key{f.ID, z.Name, server}
	t.mu.Lock()
	defer t.mu.Unlock()
	_, busy := t.under[k]
	t.under[k] = z.Serial
	if busy || t.ctx.Err() != nil {
		return
	}
	t.all.Go(func() {
		for serial, more := z.Serial, true; more; serial, more = t.next(k, serial) {
			t.one(k, f.Name, f.VIP, serial)
		}
	})
}

// next is the serial to tell after one was told; false when that was the last.
func (t *Teller) next(k key, told uint32) (serial uint32, more bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	serial = t.under[k]
	if more = serial != told && t.ctx.Err() == nil; !more {
		delete(t.under, k)
	}
	return serial, more
}

// one tells a server until it answers, or for as often as it may be told.
func (t *Teller) one(k key, farmName string, vip netip.Addr, serial uint32) {
	log := t.options.Log.With("farm", farmName, "zone", k.zone, "serial", serial, "secondary", k.server)
	var why error
	for _, wait := range append([]time.Duration{0}, t.options.Waits...) {
		select {
		case <-t.ctx.Done():
			return
		case <-time.After(wait):
		}
		switch answered, err := t.ask(k, vip, serial); {
		case err == nil:
			log.Info("a secondary was told of a zone")
			return
		case answered:
			log.Warn("a secondary was told of a zone and does not copy it", "cause", err)
			return
		default:
			why = err
			log.Debug("a secondary does not answer yet", "cause", why)
		}
	}
	log.Warn("a secondary was not told of a zone: it does not answer, and copies when it asks by itself", "cause", why)
}

// ask sends one message and waits for its answer, which may be a refusal.
func (t *Teller) ask(k key, vip netip.Addr, serial uint32) (answered bool, err error) {
	select {
	case t.turns <- struct{}{}:
		defer func() { <-t.turns }()
	case <-t.ctx.Done():
		return false, t.ctx.Err()
	}
	msg, answers, err := rdata.Notify(k.zone, serial)
	if err != nil {
		return false, err
	}
	c, err := t.dial(vip, netip.AddrPortFrom(k.server, t.options.Port).String())
	if err != nil {
		return false, err
	}
	defer c.Close()
	stop := context.AfterFunc(t.ctx, func() { _ = c.SetDeadline(time.Now()) })
	defer stop()
	_ = c.SetDeadline(time.Now().Add(t.options.Patience))
	if _, err := c.Write(msg); err != nil {
		return false, err
	}
	for raw := make([]byte, 512); ; { // until the answer is ours
		n, err := c.Read(raw)
		if err != nil {
			return false, err
		}
		if is, err := answers(raw[:n]); is {
			return true, err
		}
	}
}

// dial opens the way to a server: from the address of the farm, by which secondaries know
// their primary, where this machine has it just now.
func (t *Teller) dial(vip netip.Addr, server string) (net.Conn, error) {
	from := net.Dialer{LocalAddr: net.UDPAddrFromAddrPort(netip.AddrPortFrom(vip, 0))}
	if c, err := from.DialContext(t.ctx, "udp", server); err == nil {
		return c, nil
	}
	return new(net.Dialer).DialContext(t.ctx, "udp", server)
}
