package forward

import (
	"net/netip"

	"github.com/sluicelb/sluice/core/loop"
	"github.com/sluicelb/sluice/core/revive"
)

// oneWay is a socket to one backend, shared by the flows of a loop because they get no
// responses.
type oneWay struct {
	w    *worker
	key  oneWayKey
	conn *loop.UDPConn
	to   *backend
	uses int
}

type oneWayKey struct {
	backend uint32
	to      netip.AddrPort
}

// share returns the socket to a backend for another flow.
func (w *worker) share(b *backend, to netip.AddrPort) (*oneWay, error) {
	key := oneWayKey{b.id, to}
	o := w.oneWays[key]
	if o == nil {
		o = &oneWay{w: w, key: key, to: b}
		conn, err := w.loop.DialUDP(to, o, b.options)
		if err != nil {
			return nil, err
		}
		o.conn = conn
		w.oneWays[key] = o
	}
	o.uses++
	return o, nil
}

// leave releases the socket for one flow.
func (o *oneWay) leave() {
	if o.uses--; o.uses == 0 {
		o.conn.Close()
		delete(o.w.oneWays, o.key)
	}
}

// Answered implements loop.UDPConnHandler. The receiver of a response is unknown.
func (o *oneWay) Answered(*loop.UDPConn, *loop.Datagram) {}

// Refused implements loop.UDPConnHandler.
func (o *oneWay) Refused(_ *loop.UDPConn, err error) {
	o.w.backend(o.to).ConnectFailures++
	o.w.engine.lost(o.to, revive.Port{Number: o.key.to.Port(), UDP: true}, err)
	o.w.eachFlow(func(f *flow) {
		if f.shared == o {
			f.end()
		}
	})
}

// Unsent implements loop.UDPConnHandler.
func (o *oneWay) Unsent(_ *loop.UDPConn, n int) {
	for _, f := range o.w.flows.young {
		if f.shared == o {
			o.w.farm(f.farm).Dropped += uint64(n)
			return
		}
	}
}

// eachFlow calls fn, which may end the flow, for every flow of the loop.
func (w *worker) eachFlow(fn func(f *flow)) {
	for _, list := range []*[]*flow{&w.flows.young, &w.flows.sure} {
		for i := len(*list) - 1; i >= 0; i-- {
			if i < len(*list) {
				fn((*list)[i])
			}
		}
	}
}
