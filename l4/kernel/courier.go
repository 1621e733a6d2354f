package kernel

import (
	"context"
	"time"

	"github.com/sluicelb/sluice/sysnet/icmp"
	"github.com/sluicelb/sluice/sysnet/neigh"
	"github.com/sluicelb/sluice/sysnet/nft"
)

// Packets of packet modes are tracked by nobody, so nobody knows what an ICMP
// error about one has to do with: it comes to the VIP, which is this machine's,
// or goes to a client that knows no such backend. The courier takes errors to
// whom they concern. Path MTU discovery, and the refusals of backends, hang on it.

const (
	// courierPause is how often it is looked whether there still are farms of
	// packet modes.
	courierPause = 500 * time.Millisecond
	// courierRate bounds the errors carried in a second: anybody may send some.
	courierRate = 2000
)

// errand is an error as it is sent on.
type errand struct {
	packet []byte
	// place is where it is put on the wire; without a MAC it goes where the
	// routes lead.
	place neigh.Place
}

// CarryErrors is the courier, until ctx ends. It listens only while there are
// farms of packet modes.
func (k *Keeper) CarryErrors(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-k.wired:
		}
		for ctx.Err() == nil && k.packetModes() {
			if err := k.listen(ctx); err != nil {
				k.options.Log.Warn("path MTU discovery does not work for farms with nattype dsr and stateless_dnat", "reason", err)
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

// packetModes reports whether farms of packet modes run.
func (k *Keeper) packetModes() bool { return k.errands.Load() != nil }

// listen carries errors as long as there are farms of packet modes.
func (k *Keeper) listen(ctx context.Context) error {
	l, err := icmp.Listen()
	if err != nil {
		return err
	}
	defer l.Close()
	second, n := time.Now(), 0
	for ctx.Err() == nil && k.packetModes() {
		heard, ok, err := l.Next(courierPause)
		if err != nil {
			return err
		}
		if !ok {
			continue
		}
		if time.Since(second) >= time.Second {
			second, n = time.Now(), 0
		}
		if n++; n > courierRate {
			continue
		}
		if e, ok := k.errand(heard.Message, nft.Lookup); ok {
			e.send(l)
		}
	}
	return nil
}

// send sends the error on; who does not get it sends another packet, and another
// error comes.
func (e *errand) send(l *icmp.Listener) {
	if e.place.MAC == (neigh.MAC{}) {
		_ = l.Send(e.packet)
		return
	}
	_ = l.SendTo(e.place.Index, e.place.MAC, e.packet)
}
