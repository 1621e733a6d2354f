package proxy

import (
	"io"

	"github.com/sluicelb/sluice/core/loop"
	"github.com/sluicelb/sluice/l7/http1"
)

// tunnel is which directions of a tunnel are over.
type tunnel struct{ clientEnded, backendEnded bool }

// switchProtocol passes a 101 on; from then on bytes flow both ways without
// being looked at. Only the handshake is HTTP.
func (ex *exchange) switchProtocol(b []byte, n int) {
	w := ex.w
	if err := ex.checkSwitch(); err != nil {
		ex.badResponse(answerReason(err))
		return
	}
	if err := ex.applyRules(); err != nil {
		ex.badResponse(answerReason(err))
		return
	}
	if err := ex.checkOffered(); err != nil { // after the rules: these may take away what a rule made a backend select
		ex.badResponse(answerReason(err))
		return
	}
	o := http1.ResponseOptions{}
	if rules := ex.service.Response; rules != nil {
		o.Extra = rules.Add
	}
	o.Extra = ex.withServedBy(ex.withCookie(o.Extra))
	out := http1.AppendResponse(w.loop.Scratch[:0], &w.resp, &o)
	ex.countAnswer(len(out), len(out))
	ex.phase = phaseTunnel
	ex.unsave()
	err := ex.client.Interim(out)
	if rest := b[n:]; err == nil && len(rest) > 0 {
		ex.countTunnel(0, len(rest))
		err = ex.client.WriteBody(rest, false, nil)
	}
	ex.keepAhead(nil)
	if err != nil {
		ex.ClientGone()
		return
	}
	ex.up.SetDeadline(0)
	ex.ClientReadable() // what is missing of the body comes first
	if ex.client != nil {
		ex.tunnelDown()
	}
}

// tunnelUp moves bytes from the client to the backend.
func (ex *exchange) tunnelUp() {
	n, ended := ex.relayUp()
	ex.countTunnel(n, 0)
	ex.tunnelMoved(ended, &ex.clientEnded)
}

// tunnelDown moves bytes from the backend to the client.
func (ex *exchange) tunnelDown() {
	n, ended := ex.relayDown()
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
	ex.client.SetDeadline(ex.w.loop.Now() + ex.farm.TunnelIdle)
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
	ex.End()
	cl.Finish(false, false)
}

// relayUp moves bytes to the backend until it pauses. ended says that the client's
// direction is over and the backend was told.
func (ex *exchange) relayUp() (moved int, ended bool) {
	l := ex.w.loop
	for range readsPerTurn {
		if ex.up.Pending() != 0 {
			return moved, false // BackendDrained comes back here
		}
		n, err := ex.client.ReadBody(l.In)
		switch {
		case err == loop.ErrDry:
			return moved, false
		case err == io.EOF:
			ex.up.CloseWrite()
			return moved, true
		case err != nil:
			ex.clientEnded, ex.backendEnded = true, true // a reset ends both
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
			return moved, false // ClientDrained comes back here
		}
		n, err := ex.up.Read(l.In[:room])
		switch {
		case err == loop.ErrDry:
			return moved, false
		case err != nil:
			reset := err != io.EOF
			if reset {
				ex.clientEnded, ex.backendEnded = true, true
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
