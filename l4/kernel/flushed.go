package kernel

import (
	"context"
	"maps"
	"time"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/l4/kernel/rules"
)

// A connection the kernel has forgotten has not ended: it takes up what comes
// in mid-stream as it takes what is new, and a farm that was stopped and started, or
// whose backend was cut and is back, may choose the same backend for it. So
// farms refuse for a while what does not begin as a connection does. Only for a
// while, because it is good that the kernel takes up others: those of a farm
// that hashes come from another appliance, when routes change.

// flushedTime is how long a connection may be silent without being forgotten: the
// kernel's nf_conntrack_tcp_timeout_established, unless somebody set it.
const flushedTime = 5 * 24 * time.Hour

// silence is how long a packet of a connection that was ended may be yet to come.
func silence(f *farm.Farm) time.Duration {
	if rules.Home(f.L4.NAT) == rules.Netdev() {
		return time.Duration(rules.IdleTime(f.L4)) * time.Second
	}
	return flushedTime
}

// noteFlushed notes that connections to these backends are ended now. Of those that were
// deleted none can be chosen again.
func (k *Reconciler) noteFlushed(lost func(backend uint32) bool) {
	for i := range k.farms {
		f := &k.farms[i]
		for j := range f.L4.Backends {
			if lost(f.L4.Backends[j].ID) {
				k.flushed[f.ID] = time.Now().Add(silence(f))
			}
		}
	}
}

// Flushing has what is of the connections to these backends refused from now on:
// they are flushed on request.
func (k *Reconciler) Flushing(ctx context.Context, meant func(backend uint32) bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if len(k.farms) > 0 {
		k.noteFlushed(meant)
		for i := range k.farms {
			for j := range k.farms[i].L4.Backends {
				if id := k.farms[i].L4.Backends[j].ID; meant(id) {
					k.cut[id] = true
				}
			}
		}
		k.carry(ctx)
	}
}

// cutNow are the backends that are down and whose connections were ended. One that is up
// again has new ones.
func (k *Reconciler) cutNow() map[uint32]bool {
	if b := k.options.Health; b != nil {
		maps.DeleteFunc(k.cut, func(id uint32, _ bool) bool { return b.Slot(id).Usable() })
	} else {
		clear(k.cut)
	}
	return maps.Clone(k.cut)
}

// forgetFlushed forgets flushed connections that are not to be heard of any more, and
// farms that are gone; it reports whether there were such of a farm that is not.
func (k *Reconciler) forgetFlushed(at time.Time) (over bool) {
	there := map[uint32]bool{}
	for i := range k.farms {
		there[k.farms[i].ID] = true
	}
	maps.DeleteFunc(k.flushed, func(id uint32, until time.Time) bool {
		gone := at.After(until)
		over = over || gone && there[id]
		return gone || !there[id]
	})
	return over
}

// flushedNow are the farms with connections that were flushed.
func (k *Reconciler) flushedNow() map[uint32]bool {
	out := make(map[uint32]bool, len(k.flushed))
	for id := range k.flushed {
		out[id] = true
	}
	return out
}
