package proxy

import (
	"io"

	"github.com/sluicelb/sluice/core/loop"
	"github.com/sluicelb/sluice/l7/http1"
)

// switchProtocol passes a 101 on; from then on bytes flow both ways without
// being looked at. Only the handshake is HTTP.
func (ex *exchange) switchProtocol(b []byte, n int) {
	w := ex.w
	if !ex.upgrade || !w.resp.Upgrade {
		ex.badResponse("switch of protocols nobody asked for")
		return
	}
	if err := ex.applyRules(); err != nil {
		ex.badResponse(answerReason(err))
		return
	}
	o := http1.ResponseOptions{}
	if rules := ex.service.response; rules != nil {
		o.Extra = rules.add
	}
	o.Extra = ex.withServedBy(ex.withCookie(o.Extra))
	out := http1.AppendResponse(w.loop.Scratch[:0], &w.resp, &o)
	ex.countAnswer(len(out), len(out))
	ex.phase = phaseTunnel
	ex.unsave()
	err := ex.client.interim(out)
	if rest := b[n:]; err == nil && len(rest) > 0 {
		ex.countTunnel(0, len(rest))
		err = ex.client.writeBody(rest, false, nil)
	}
	ex.keepAhead(nil)
	if err == nil && ex.client.in != nil {
		ex.countTunnel(len(ex.client.in), 0)
		err = ex.tunnelSend(ex.client.in)
		ex.client.keep(nil)
	}
	if err != nil {
		ex.clientGone()
		return
	}
	ex.up.SetDeadline(0)
	ex.tunnelUp()
	if ex.client != nil {
		ex.tunnelDown()
	}
}

// tunnelUp moves bytes from the client to the backend.
func (ex *exchange) tunnelUp() {
	var n int
	var ended bool
	if ex.client.stream != nil || ex.service.multiplexed {
		n, ended = ex.relayUp()
	} else {
		n, ended = ex.relay(ex.client.conn, ex.plain().Conn)
	}
	ex.countTunnel(n, 0)
	ex.tunnelMoved(ended, &ex.clientEnded)
}

// tunnelDown moves bytes from the backend to the client.
func (ex *exchange) tunnelDown() {
	var n int
	var ended bool
	if ex.client.stream != nil {
		n, ended = ex.relayDown()
	} else {
		n, ended = ex.relayOut()
	}
	ex.countTunnel(0, n)
	ex.tunnelMoved(ended, &ex.backendEnded)
}

// countTunnel counts bytes from and to the client.
func (ex *exchange) countTunnel(in, out int) {
	f, b := ex.stats(), ex.backendStats()
	f.BytesIn += uint64(in)
	f.BytesOut += uint64(out)
	b.BytesOut += uint64(in)
	b.BytesIn += uint64(out)
	ex.recordMoved(uint64(in), uint64(out))
}

// tunnelMoved ends the tunnel when both directions have ended.
func (ex *exchange) tunnelMoved(ended bool, side *bool) {
	ex.client.setDeadline(ex.w.loop.Now() + ex.farm.tunnelIdle)
	if !ended {
		return
	}
	*side = true
	if !ex.clientEnded || !ex.backendEnded {
		return
	}
	cl, up := ex.client, ex.up
	up.SetDeadline(0)
	if up.Pending() != 0 {
		ex.clientEnded = false // flush first; BackendDrained reads the end again
		return
	}
	ex.end()
	cl.linger()
}

// relay moves bytes from src to dst until it pauses. ended says that src's
// direction is over and dst was told.
func (ex *exchange) relay(src, dst *loop.Conn) (moved int, ended bool) {
	l := ex.w.loop
	for range readsPerTurn {
		if dst.Pending() != 0 {
			return moved, false
		}
		n, err := src.Read(l.In)
		switch {
		case err == loop.ErrDry:
			return moved, false
		case err != nil:
			dst.CloseWrite()
			if err != io.EOF {
				ex.clientEnded, ex.backendEnded = true, true // a reset ends both
			}
			return moved, true
		}
		moved += n
		if dst.Write(l.In[:n]) != nil {
			return moved, true
		}
	}
	l.Again(src)
	return moved, false
}
