package proxy

import "github.com/sluicelb/sluice/l7/table"

// begin serves one request head. rest is what was read behind it; the number
// of its bytes that belong to the request is returned. The head's bytes are
// used up afterwards.
func (w *worker) begin(cl *client, head, rest []byte) int {
	f := w.engine.farm(cl.port)
	if f == nil {
		cl.close()
		return 0
	}
	s := cl.stats()
	if !cl.began {
		cl.began = true
		s.Pending--
	}
	s.Requests++
	s.BytesIn += uint64(len(head))
	w.records.refusal = 0
	q := &w.query
	q.Farm, q.Conn, q.Now = f, cl.conn, w.clock()
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
func (w *worker) forwardFor(cl *client, f *table.Farm, sv *table.Service, unchecked *login, rest []byte) int {
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
func (ex *exchange) start(w *worker, cl *client, f *table.Farm, sv *table.Service) (invite bool) {
	r := &w.req
	// Field by field: a literal would be built aside and copied, 512 bytes of it.
	ex.w, ex.client, ex.farm, ex.service, ex.queue = w, cl, f, sv, sv.Queue
	ex.verb, ex.oldClient, ex.keepClient, ex.upgrade = r.Verb, r.Minor == 0, r.KeepAlive, r.Upgrade
	ex.binds = binds(r)
	ex.host = append(ex.host, r.Host...)
	cl.ex = ex
	ex.recordHead()
	ex.request.start(r.Body(), &r.Head, true)
	if ex.service.Multiplexed && cl.stream != nil {
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
	if ex.client.interim(continueLine) != nil {
		ex.clientGone()
		return false
	}
	return true
}
