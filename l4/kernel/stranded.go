package kernel

import (
	"context"
	"slices"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/l4/kernel/rules"
)

// A client of UDP does not notice that its backend is down: nothing ends its flow, which
// the kernel keeps as long as datagrams come. So flows of a backend are forgotten when it
// goes down, after the rules that choose another one for the next datagram. Connections of
// TCP and SCTP stay until their ends notice, or end with cut_conns.

// leave deletes the UDP flows of backends that went down since the last call and whose farm
// has another backend. It is called after the rules of in are loaded.
func (k *Reconciler) leave(ctx context.Context, in *rules.Input) {
	now := stranded(k.farms, in)
	fresh := map[uint32]bool{}
	for id := range now {
		fresh[id] = !k.left[id]
	}
	k.left = now
	if !anyTrue(fresh) {
		return
	}
	if err := k.options.Connections.FlushUDP(ctx, func(backend uint32) bool { return fresh[backend] }); err != nil {
		k.left = nil // retried with the next change
		k.options.Log.Debug("flows of backends that are down are not forgotten", "error", err)
	}
}

func anyTrue(of map[uint32]bool) bool {
	for _, is := range of {
		if is {
			return true
		}
	}
	return false
}

// stranded returns the backends that are down, in running UDP farms with another usable
// backend.
func stranded(farms []farm.Farm, in *rules.Input) map[uint32]bool {
	out := map[uint32]bool{}
	for i := range farms {
		f := &farms[i]
		if f.Stopped || !slices.Contains(f.L4.Protocol.Transports(), farm.L4UDP) {
			continue
		}
		down, better := []uint32(nil), false
		for _, s := range in.States(f.L4) {
			better = better || s.Chosen
			if s.Down {
				down = append(down, s.ID)
			}
		}
		for _, id := range down {
			if better {
				out[id] = true
			}
		}
	}
	return out
}
