package icmprelay

import (
	"context"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/l4/kernel/rules"
	"github.com/sluicelb/sluice/sysnet/icmp"
	"github.com/sluicelb/sluice/sysnet/neigh"
	"github.com/sluicelb/sluice/sysnet/nft"
)

const (
	// lookPause is how often listen checks whether farms of packet modes remain.
	lookPause = 500 * time.Millisecond
	// retryPause is the pause after listening failed.
	retryPause = 5 * time.Second
	// perSecond limits the errors forwarded per second: anyone may send some.
	perSecond = 2000
)

// Relay forwards ICMP errors. Make it with New.
type Relay struct {
	log   *slog.Logger
	farms atomic.Pointer[index] // nil without farms of packet modes
	woken chan struct{}         // signals new farms
}

// New returns a relay without farms.
func New(log *slog.Logger) *Relay { return &Relay{log: log, woken: make(chan struct{}, 1)} }

// Follow sets the farms. Errors are forwarded for running farms of packet modes without a
// problem. wire finds their backends and may be nil if there are none. The farms must not
// be changed afterwards. Follow is safe for concurrent use.
func (r *Relay) Follow(farms []farm.Farm, problems map[uint32]string, wire rules.Wire) {
	if wire == nil {
		r.farms.Store(nil)
		return
	}
	r.farms.Store(newIndex(farms, problems, wire))
	select {
	case r.woken <- struct{}{}:
	default:
	}
}

// Run forwards errors until ctx ends. It listens only while there are farms of packet modes.
func (r *Relay) Run(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-r.woken:
		}
		for ctx.Err() == nil && r.wanted() {
			if err := r.listen(ctx); err != nil {
				r.log.Warn("path MTU discovery does not work for farms with nattype dsr and stateless_dnat", "reason", err)
				pause(ctx, retryPause)
			}
		}
	}
}

func pause(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}

// wanted reports whether farms of packet modes run.
func (r *Relay) wanted() bool { return r.farms.Load() != nil }

// listen forwards errors as long as there are farms of packet modes.
func (r *Relay) listen(ctx context.Context) error {
	l, err := icmp.Listen()
	if err != nil {
		return err
	}
	defer l.Close()
	var b budget
	for ctx.Err() == nil && r.wanted() {
		heard, ok, err := l.Next(lookPause)
		if err != nil {
			return err
		}
		if !ok || !b.take(time.Now()) {
			continue
		}
		if x := r.farms.Load(); x != nil {
			if e, ok := x.relayed(heard.Message, nft.Lookup); ok {
				e.send(l)
			}
		}
	}
	return nil
}

// budget counts the errors forwarded in the current second.
type budget struct {
	since time.Time
	taken int
}

// take reports whether one more may be forwarded now.
func (b *budget) take(now time.Time) bool {
	if now.Sub(b.since) >= time.Second {
		b.since, b.taken = now, 0
	}
	b.taken++
	return b.taken <= perSecond
}

// relayed is a rewritten error and its next hop.
type relayed struct {
	packet []byte
	// hop is the next hop; without a MAC the packet is routed.
	hop neigh.NextHop
}

// send forwards the error. If it is lost, the next packet of the sender causes another
// one.
func (e *relayed) send(l *icmp.Listener) {
	if e.hop.MAC == (neigh.MAC{}) {
		_ = l.Send(e.packet)
		return
	}
	_ = l.SendTo(e.hop.Index, e.hop.MAC, e.packet)
}
