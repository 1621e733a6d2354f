package proxy

import (
	"io"

	"github.com/sluicelb/sluice/core/loop"
	"github.com/sluicelb/sluice/l7/http1"
)

// tunnel holds which directions of a tunnel have ended.
type tunnel struct{ clientEnded, backendEnded bool }

// switchProtocol forwards a 101. From then on bytes flow in both directions uninspected;
// only the handshake is HTTP.
func (ex *exchange) switchProtocol(b []byte, n int) {
	w := ex.w
	if err := ex.upgrade.check(&w.resp, ex.client.WantsTunnel()); err != nil {
		ex.badResponse(answerReason(err))
		return
	}
	if err := ex.w.applyRules(ex.service); err != nil {
		ex.badResponse(answerReason(err))
		return
	}
	if err := ex.upgrade.checkOffered(&w.resp); err != nil { // after the rules, which may remove a selection caused by another rule
		ex.badResponse(answerReason(err))
		return
	}
	o := http1.ResponseOptions{}
	if rules := ex.service.Response; rules != nil {
		o.Extra = rules.Add
	}
	o.Extra = ex.w.withServedBy(ex.withCookie(o.Extra), ex.service, ex.backend)
	out := http1.AppendResponse(w.loop.Scratch[:0], &w.resp, &o)
	ex.countAnswer(len(out), len(out))
	ex.phase = phaseTunnel
	ex.saved.release(ex.w.loop)
	err := ex.client.Interim(out)
	if rest := b[n:]; err == nil && len(rest) > 0 {
		ex.countTunnel(0, len(rest))
		err = ex.client.WriteBody(rest, false, nil)
	}
	ex.head.keep(&ex.w.loop.Buffers, nil)
	if err != nil {
		ex.ClientGone()
		return
	}
	ex.up.SetDeadline(0)
	ex.ClientReadable() // the rest of the body comes first
	if ex.client != nil {
		ex.tunnelDown()
	}
}

// tunnelUp forwards bytes from the client to the backend.
func (ex *exchange) tunnelUp() {
	n, ended := ex.relayUp()
	ex.countTunnel(n, 0)
	ex.tunnelMoved(ended, &ex.tunnel.clientEnded)
}

// tunnelDown forwards bytes from the backend to the client.
func (ex *exchange) tunnelDown() {
	n, ended := ex.relayDown()
	ex.countTunnel(0, n)
	ex.tunnelMoved(ended, &ex.tunnel.backendEnded)
}

// countTunnel counts bytes from and to the client.
func (ex *exchange) countTunnel(in, out int) {
	f, b := ex.stats(), ex.backendStats()
	f.BytesIn += uint64(in)
	f.BytesOut += uint64(out)
	b.BytesOut += uint64(in)
	b.BytesIn += uint64(out)
	ex.record.moved(uint64(in), uint64(out))
}

// tunnelMoved ends the tunnel once both directions have ended.
func (ex *exchange) tunnelMoved(ended bool, side *bool) {
	ex.client.SetDeadline(ex.w.loop.Now() + ex.farm.TunnelIdle)
	if !ended {
		return
	}
	*side = true
	if !ex.tunnel.clientEnded || !ex.tunnel.backendEnded {
		return
	}
	cl, up := ex.client, ex.up
	up.SetDeadline(0)
	if up.Pending() != 0 {
		ex.tunnel.clientEnded = false // flush first; BackendDrained reads the end again
		return
	}
	ex.End()
	cl.Finish(false, false)
}

// relayUp forwards bytes to the backend until it pauses. ended means that the client
// half-closed and the end was forwarded.
func (ex *exchange) relayUp() (moved int, ended bool) {
	l := ex.w.loop
	for range readsPerTurn {
		if ex.up.Pending() != 0 {
			return moved, false // BackendDrained continues here
		}
		n, err := ex.client.ReadBody(l.In)
		switch {
		case err == loop.ErrDry:
			return moved, false
		case err == io.EOF:
			ex.up.CloseWrite()
			return moved, true
		case err != nil:
			ex.tunnel.clientEnded, ex.tunnel.backendEnded = true, true // a reset ends both
			return moved, true
		}
		moved += n
		if ex.up.SendBody(l.In[:n], false, nil) != nil {
			return moved, true
		}
	}
	ex.client.Again()
	return moved, false
}

// relayDown is relayUp from the backend to the client.
func (ex *exchange) relayDown() (moved int, ended bool) {
	l := ex.w.loop
	for range readsPerTurn {
		room := ex.client.Room(len(l.In))
		if room == 0 {
			return moved, false // ClientDrained continues here
		}
		n, err := ex.up.Read(l.In[:room])
		switch {
		case err == loop.ErrDry:
			return moved, false
		case err != nil:
			reset := err != io.EOF
			if reset {
				ex.tunnel.clientEnded, ex.tunnel.backendEnded = true, true
			}
			ex.client.EndTunnel(reset)
			return moved, true
		}
		moved += n
		if ex.client.WriteBody(l.In[:n], false, nil) != nil {
			return moved, true
		}
	}
	ex.up.Again()
	return moved, false
}
