package kernel

import (
	"context"
	"maps"
	"time"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/l4/kernel/rules"
)

// A connection deleted from connection tracking has not ended. The kernel picks up its next
// packet in mid-stream like a new connection. A farm that was restarted, or whose cut
// backend is back, may choose the same backend for it. So farms refuse TCP packets that do
// not begin a connection for a while. Only for a while, because picking up others is useful:
// connections of a farm with a hash algorithm come from another appliance when routes
// change.

// flushedTime is how long an idle connection is tracked: the kernel's default for
// nf_conntrack_tcp_timeout_established.
const flushedTime = 5 * 24 * time.Hour

// silence returns how long packets of an ended connection may still arrive.
func silence(f *farm.Farm) time.Duration {
	if rules.Home(f.L4.NAT) == rules.Netdev() {
		return time.Duration(rules.IdleTime(f.L4)) * time.Second
	}
	return flushedTime
}

// remember adopts what the kernel's rules, loaded by an earlier process, say about ended
// connections. It is not known since when, so the time begins now.
func (k *Reconciler) remember(ctx context.Context) {
	flushed, cut, err := k.options.Filter.Remembered(ctx)
	if err != nil {
		k.options.Log.Warn("connections that were ended before may be picked up again", "reason", err)
		return
	}
	for i := range k.farms {
		f := &k.farms[i]
		if flushed[f.ID] {
			k.flushed[f.ID] = time.Now().Add(silence(f))
		}
		for j := range f.L4.Backends {
			if id := f.L4.Backends[j].ID; cut[id] {
				k.cut[id] = true
			}
		}
	}
}

// noteFlushed records that the connections to these backends end now. Deleted backends need
// no record: they cannot be chosen again.
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

// Flushing makes farms refuse further packets of connections to these backends. It is called
// when connections are flushed on request.
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

// cutNow returns the backends that are down and whose connections were ended. Backends that
// are up again are removed: their connections are new.
func (k *Reconciler) cutNow() map[uint32]bool {
	if b := k.options.Health; b != nil {
		maps.DeleteFunc(k.cut, func(id uint32, _ bool) bool { return b.Slot(id).Usable() })
	} else {
		clear(k.cut)
	}
	return maps.Clone(k.cut)
}

// forgetFlushed removes expired records of flushed connections and the records of deleted
// farms. It reports whether a record of an existing farm expired.
func (k *Reconciler) forgetFlushed(at time.Time) (over bool) {
	if len(k.flushed) == 0 {
		return false
	}
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

// flushedNow returns the farms with flushed connections.
func (k *Reconciler) flushedNow() map[uint32]bool {
	out := make(map[uint32]bool, len(k.flushed))
	for id := range k.flushed {
		out[id] = true
	}
	return out
}
