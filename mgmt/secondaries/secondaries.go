// Package secondaries notifies the servers that copy zones of gslb farms of changes
// (NOTIFY, RFC 1996). They poll the zones at intervals; a notified server copies at once.
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

// Options holds the parameters of a Teller; the zero value is for an appliance.
type Options struct {
	// Port is the port of the servers; 0 means 53.
	Port uint16
	// Waits are the times between tries (RFC 1996 §3.6: about five, each longer than the
	// previous one); nil means 1, 2, 4, 8 and 16 s.
	Waits []time.Duration
	// Patience is how long a server may take to answer; 0 means 2 s.
	Patience time.Duration
	// Open decrypts a key that farms share with their secondaries; nil: keys are not
	// encrypted.
	Open func(farm.TransferKey) (farm.TransferKey, error)
	Log  *slog.Logger // nil: no log
}

const (
	standardPort = 53
	patience     = 2 * time.Second
	// atOnce is how many servers are notified at a time.
	atOnce = 32
)

// Teller notifies secondaries of changes. Its methods may be called by any goroutine.
type Teller struct {
	options Options
	ctx     context.Context
	turns   chan struct{}
	all     sync.WaitGroup

	mu    sync.Mutex
	under map[key]news // notifications in progress or waiting
}

// news is a zone's serial, and the current farm, since also the route and the key may have
// changed since the last try.
type news struct {
	serial uint32
	farm   *farm.Farm
}

// key is one zone and one of its servers.
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

// Wait returns when ctx has ended and no notification is in progress.
func (t *Teller) Wait() {
	<-t.ctx.Done()
	t.all.Wait()
}

// Changed sends notifications for the zones whose serial changed. old is the configuration
// before now.
func (t *Teller) Changed(old, now *farm.Config) {
	before := map[uint32]*farm.Farm{}
	gone, came := farm.Apart(old.Farms, now.Farms)
	for i := range gone {
		before[gone[i].ID] = &gone[i]
	}
	for i := range came {
		f := &came[i]
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

// toldBefore reports whether a server had to be notified of the zone in this state.
func toldBefore(f *farm.Farm, z *farm.Zone, server netip.Addr) bool {
	if f == nil || f.Stopped || f.Zones() == nil {
		return false
	}
	was := f.Zones().Zone(z.Name)
	return was != nil && was.Serial == z.Serial && slices.Contains(f.Zones().Notified, server)
}

// tell starts a notification of a server, or updates the one in progress for that zone.
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

// more reports whether there is a newer serial; if not, it removes the notification.
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

// one notifies a server until it answers, or there are no more tries, and returns the
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
	for raw := make([]byte, 512); ; { // until the answer belongs to the message
		n, err := c.Read(raw)
		if err != nil {
			return false, err
		}
		if is, err := answers(raw[:n]); is {
			return true, err
		}
	}
}

// signs returns the key that signs notifications, nil without one.
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

// dial connects to a server. The source is the address of the farm, by which secondaries
// identify their primary, if this machine currently has it.
func (t *Teller) dial(vip netip.Addr, server string) (net.Conn, error) {
	from := net.Dialer{LocalAddr: net.UDPAddrFromAddrPort(netip.AddrPortFrom(vip, 0))}
	if c, err := from.DialContext(t.ctx, "udp", server); err == nil {
		return c, nil
	}
	return new(net.Dialer).DialContext(t.ctx, "udp", server)
}
