package proxy

import (
	"net/netip"

	"github.com/sluicelb/sluice/core/accesslog"
	"github.com/sluicelb/sluice/core/loop"
	"github.com/sluicelb/sluice/core/rejection"
	"github.com/sluicelb/sluice/l7/client"
	"github.com/sluicelb/sluice/l7/guard"
	"github.com/sluicelb/sluice/l7/http1"
	"github.com/sluicelb/sluice/l7/rejected"
	"github.com/sluicelb/sluice/l7/table"
)

// inviteBody sends 100 Continue. It reports whether the client is still connected.
func (q *dohQuery) inviteBody() bool {
	if q.client.Interim(continueLine) != nil {
		q.ClientGone()
		return false
	}
	return true
}

// authenticated implements guest.
func (q *dohQuery) authenticated(v guard.Verdict) {
	cl := q.client
	defer q.peer.Conn.Contain()
	q.login.check = nil
	switch v {
	case guard.Unchecked:
		q.note(rejected.RateLimited, 503, table.RefusedBusy.Reason)
		q.fail(503, retrySoon)
		return
	case guard.Wrong:
		q.note(rejected.Unauthorized, 401, table.RefusedPassword.Reason)
		q.fail(401, q.login.auth.UserChallenge)
		return
	}
	if q.login.invite && !q.inviteBody() {
		return
	}
	q.ask()
	if q.client == cl {
		q.ClientReadable()
	}
}

// Proceed implements client.Exchange.
func (q *dohQuery) Proceed() {
	if q.request.done() {
		q.client.Listen(false)
		return
	}
	q.ClientReadable()
}

// ClientReadable implements client.Exchange. It reads the body until it pauses or ends.
func (q *dohQuery) ClientReadable() {
	l := q.w.loop
	for range readsPerTurn {
		if q.request.done() {
			return
		}
		n, err := q.client.ReadBody(l.In[:bodyRead])
		if err == loop.ErrDry {
			q.client.SetDeadline(l.Now() + q.farm.RequestTimeout)
			return
		}
		if err != nil {
			q.ClientGone()
			return
		}
		if !q.take(l.In[:n]) {
			return
		}
	}
	q.client.Again()
}

// ClientDrained implements client.Exchange.
func (q *dohQuery) ClientDrained() {}

// ClientExpired implements client.Exchange. The client's timeout has passed.
func (q *dohQuery) ClientExpired() {
	switch {
	case q.client.Pending() != 0:
		if q.client.Stalled(q.farm.RequestTimeout) {
			q.stats().Timeouts++
			q.note(rejected.Timeout, 0, "answer not taken in time")
			cl := q.client
			q.End()
			cl.Abort(false)
		}
	case q.request.done():
		q.client.Hear() // the password is being checked
	default:
		q.stats().Timeouts++
		q.note(rejected.Timeout, 408, bodyLate)
		q.keepClient = false
		q.fail(408, nil)
	}
}

// ClientGone implements client.Exchange.
func (q *dohQuery) ClientGone() {
	cl := q.client
	q.record.flag(accesslog.AbortedByClient)
	q.stats().ClientAborts++
	q.End()
	cl.Close(true)
}

// Watches implements client.Exchange.
func (q *dohQuery) Watches() client.Watch {
	if q.service.IgnoreClose || !q.request.done() {
		return client.WatchResets
	}
	return client.WatchCloses
}

// BodyRefused implements client.Exchange.
func (q *dohQuery) BodyRefused() bool { return false }

// CutOff implements client.Exchange. A query uses no backend.
func (q *dohQuery) CutOff(func(backend uint32) bool) bool { return false }

// Abort implements client.Exchange.
func (q *dohQuery) Abort() {
	cl := q.client
	q.End()
	cl.Abort(true)
}

// End implements client.Exchange. It releases the query, and its client continues without it.
func (q *dohQuery) End() {
	w := q.w
	if q.login.check != nil {
		q.login.check.leave(q)
	}
	if r := &q.record; r.status != 0 {
		w.shard.FarmTimes(q.farm.ID).Total.Observe(w.loop.Now() - r.began)
	}
	if q.record.entry != nil {
		q.record.put(w, q.service, nil, 0, q.record.ending(q.record.own))
	}
	if q.message != nil {
		w.loop.Buffers.Put(q.message)
	}
	q.client.Serve(nil)
	q.request.clear()
	request, id := q.request, q.record.id[:0]
	*q = dohQuery{request: request}
	q.record.id = id
	w.queries.Put(q)
}

// fail ends the query with a generated response and additional field lines.
func (q *dohQuery) fail(status int, lines []byte) {
	last := q.closes()
	q.send(status, q.farm.Answers.AppendWith(q.w.loop.Scratch[:0], status, lines, q.verb == http1.VerbHEAD, last), last)
}

// refuseBody responds to a request whose body is badly framed.
func (q *dohQuery) refuseBody(err error) {
	class, status, reason := rejected.Classify(err)
	q.note(class, status, reason)
	rejected.Count(q.stats(), class)
	q.keepClient = false
	q.fail(status, nil)
}

// closes reports whether the client connection ends after the response.
func (q *dohQuery) closes() bool { return !q.keepClient || !q.request.done() || q.oldClient }

// send ends the query with a response.
func (q *dohQuery) send(status int, out []byte, last bool) {
	cl, s := q.client, q.stats()
	s.Responses[status/100-1]++
	out = q.record.insertID(q.w, q.farm, out)
	q.record.generated(q.w, q.farm, status, len(out))
	q.End()
	s.BytesOut += uint64(len(out))
	cl.Answer(out, last)
}

// note logs a refusal.
func (q *dohQuery) note(class rejection.Class, status int, reason string) {
	q.record.reject(q.w, q.farm, class, reason)
	q.w.note(class, status, q.farm.Name, reason, q.peer.Conn.Peer(), netip.AddrPort{})
}
