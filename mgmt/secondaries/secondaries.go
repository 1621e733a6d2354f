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
	// Open opens a key that farms share with their secondaries; nil: it is open.
	Open func(farm.TransferKey) (farm.TransferKey, error)
	Log  *slog.Logger // nil: nobody hears
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
	under map[key]news // what is told, or waits to be
}

// news is a zone's serial, and the farm as it is with it: also how it is reached, and by
// which key, may have changed since the last try.
type news struct {
	serial uint32
	farm   *farm.Farm
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
	return &Teller{options: o, ctx: ctx, turns: make(chan struct{}, atOnce), under: map[key]news{}}
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
	t.under[k] = news{z.Serial, f}
	if busy || t.ctx.Err() != nil {
		return
	}
	t.all.Go(func() {
		for t.more(k, t.one(k)) {
		}
	})
}

// more reports whether there is something newer to tell; else nobody tells it any more.
func (t *Teller) more(k key, told uint32) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.under[k].serial != told && t.ctx.Err() == nil {
		return true
	}
	delete(t.under, k)
	return false
}

func (t *Teller) newest(k key) news {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.under[k]
}

// one tells a server until it answers, or for as often as it may be told, and returns the
// serial of the last try.
func (t *Teller) one(k key) uint32 {
	var n news
	var why error
	var log *slog.Logger
	for _, wait := range append([]time.Duration{0}, t.options.Waits...) {
		select {
		case <-t.ctx.Done():
			return n.serial
		case <-time.After(wait):
		}
		n = t.newest(k)
		log = t.options.Log.With("farm", n.farm.Name, "zone", k.zone, "serial", n.serial, "secondary", k.server)
		switch answered, err := t.ask(k, n.farm, n.serial); {
		case err == nil:
			log.Info("a secondary was told of a zone")
			return n.serial
		case answered:
			log.Warn("a secondary was told of a zone and does not copy it", "cause", err)
			return n.serial
		default:
			why = err
			log.Debug("a secondary does not answer yet", "cause", why)
		}
	}
	log.Warn("a secondary was not told of a zone: it does not answer, and copies when it asks by itself", "cause", why)
	return n.serial
}

// ask sends one message and waits for its answer, which may be a refusal.
func (t *Teller) ask(k key, f *farm.Farm, serial uint32) (answered bool, err error) {
	select {
	case t.turns <- struct{}{}:
		defer func() { <-t.turns }()
	case <-t.ctx.Done():
		return false, t.ctx.Err()
	}
	signs, err := t.signs(f)
	if err != nil {
		return false, err
	}
	msg, answers, err := rdata.Notify(k.zone, serial, signs)
	if err != nil {
		return false, err
	}
	c, err := t.dial(f.VIP, netip.AddrPortFrom(k.server, t.options.Port).String())
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

// signs is the key that signs what is told, nil without one.
func (t *Teller) signs(f *farm.Farm) (*farm.TransferKey, error) {
	if len(f.Zones().Keys) == 0 {
		return nil, nil
	}
	k := f.Zones().Keys[0]
	if t.options.Open == nil {
		return &k, nil
	}
	k, err := t.options.Open(k)
	return &k, err
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
