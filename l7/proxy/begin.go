package proxy

import (
	"github.com/sluicelb/sluice/l7/client"
	"github.com/sluicelb/sluice/l7/table"
)

// Begin implements client.Handler.
func (w *worker) Begin(cl client.Client, f *table.Farm, head, rest []byte) int {
	peer := cl.From()
	s := peer.Stats()
	s.Requests++
	s.BytesIn += uint64(len(head))
	q := &w.query
	q.Farm, q.Conn, q.Now = f, peer.Conn, w.Clock()
	p := q.Plan()
	switch p.Outcome {
	case table.OutcomeChallenge:
		return w.answerChallenge(cl, f, rest)
	case table.OutcomeRefuse:
		return w.refuse(cl, f, p, rest)
	case table.OutcomeRedirect:
		return w.redirect(cl, f, p, rest)
	}
	var unchecked *login
	if p.Unchecked {
		if unchecked = w.check(p); unchecked == nil {
			return w.refuse(cl, f, p, rest)
		}
	}
	return w.forwardFor(cl, f, p.Service, unchecked, rest)
}

// forwardFor begins an exchange for a request that is forwarded, perhaps once a
// password has been checked.
func (w *worker) forwardFor(cl client.Client, f *table.Farm, sv *table.Service, unchecked *login, rest []byte) int {
	ex := w.exchanges.Get()
	invite := ex.start(w, cl, f, sv)
	used, err := ex.prepare(rest)
	if err != nil {
		ex.refuse(err)
		return len(rest)
	}
	if unchecked != nil {
		ex.await401(unchecked, invite && used == 0)
		return used
	}
	if invite && used == 0 && !ex.inviteBody() {
		return len(rest)
	}
	ex.forwardTo()
	return used
}

// start makes the exchange one of the request at hand. It reports whether the
// client is to be invited to send the body.
func (ex *exchange) start(w *worker, cl client.Client, f *table.Farm, sv *table.Service) (invite bool) {
	r := &w.req
	// Field by field: a literal would be built aside and copied, 512 bytes of it.
	ex.client, ex.peer = cl, cl.From()
	ex.w, ex.farm, ex.service, ex.queue = w, f, sv, sv.Queue
	ex.verb, ex.oldClient, ex.keepClient, ex.upgrade = r.Verb, r.Minor == 0, r.KeepAlive, r.Upgrade
	ex.binds = binds(r)
	ex.host = append(ex.host, r.Host...)
	cl.Serve(ex)
	ex.recordHead()
	ex.request.start(r.Body(), &r.Head, true)
	if ex.service.Multiplexed && ex.peer.Frames {
		ex.request.chunked.AllowAll()
	}
	if m := f.Limits.MaxBody; m > 0 {
		ex.request.chunked.Limit(m)
	}
	invite = w.query.Invites()
	if c := sv.Compress; c != nil && !ex.oldClient {
		ex.coding = c.Accepted(&r.Head)
	}
	return invite
}

var continueLine = []byte("HTTP/1.1 100 Continue\r\n\r\n")

// inviteBody tells the client to send the body it waits with. It reports
// whether the client is still there.
func (ex *exchange) inviteBody() bool {
	if ex.client.Interim(continueLine) != nil {
		ex.ClientGone()
		return false
	}
	return true
}

// prepare makes the request a backend gets in the loop's scratch buffer: head
// and as much of the body as has come.
func (ex *exchange) prepare(rest []byte) (used int, err error) {
	told := table.Told{Proto: ex.peer.Scheme()}
	if len(ex.id) > 0 { // copying what was just written makes the processor wait
		told.ID = ex.id
	}
	if t := ex.farm.TLS; t != nil && t.TellsClients {
		told.Certificate = ex.peer.Certificate()
	}
	if err := ex.Revise(&ex.w.query, ex.service, &ex.Choice, &told); err != nil {
		return 0, err
	}
	return ex.assemble(rest)
}

// assemble writes the request.
func (ex *exchange) assemble(rest []byte) (used int, err error) {
	w := ex.w
	out := ex.Append(w.loop.Scratch[:0], &w.query)
	in, n, err := ex.request.take(rest, ex.service.Multiplexed)
	if err != nil {
		return 0, err
	}
	out = append(out, rest[:n]...)
	if !ex.service.Multiplexed { // else transmit asks for it
		out = append(out, ex.requestTrailer()...)
	}
	w.loop.Scratch = out
	ex.peer.Stats().BytesIn += uint64(in)
	ex.recordMoved(uint64(in), 0)
	return in, nil
}
