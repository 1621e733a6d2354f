package proxy

import (
	"errors"
	"net/netip"
	"strconv"

	"github.com/sluicelb/sluice/core/rejection"
	"github.com/sluicelb/sluice/l7/backend"
	"github.com/sluicelb/sluice/l7/client"
	"github.com/sluicelb/sluice/l7/http1"
	"github.com/sluicelb/sluice/l7/rejected"
	"github.com/sluicelb/sluice/l7/table"
)

// answerWith responds without a backend, with additional field lines. sv may be nil. class
// is the class of the refusal plus one. It returns the number of bytes of rest that belong
// to the request.
func (w *worker) answerWith(cl client.Client, f *table.Farm, sv *table.Service, class uint8, no *rejected.Cause, lines, rest []byte) int {
	status := no.Status
	close, used := w.bodyless(rest)
	s := cl.From().Stats()
	s.Responses[status/100-1]++
	out := f.Answers.AppendWith(w.loop.Scratch[:0], status, lines, w.req.Verb == http1.VerbHEAD, close)
	w.recordOwn(cl, f, sv, class, no.Reason, status, len(out))
	w.send(cl, out, close)
	return used
}

// refuse responds to a request as its plan demands. Missing credentials do not count as a
// rejection, because every visit begins without them.
func (w *worker) refuse(cl client.Client, f *table.Farm, p *table.Plan, rest []byte) int {
	no, lines, class := p.Refused, p.Lines, uint8(0)
	if no != table.RefusedStranger {
		class = uint8(no.Class) + 1
		cl.From().Note(no.Class, no.Status, no.Reason)
	}
	rejected.Count(cl.From().Stats(), no.Class)
	if p.Wait > 0 {
		lines = w.retryAfter(p.Wait)
	}
	return w.answerWith(cl, f, p.Service, class, no, lines, rest)
}

// retryAfter returns the Retry-After line for a wait in nanoseconds. It is valid until the
// next call on the loop.
func (w *worker) retryAfter(wait int64) []byte {
	w.extra = append(w.extra[:0], "Retry-After: "...)
	w.extra = strconv.AppendInt(w.extra, (wait+second-1)/second, 10)
	w.extra = append(w.extra, "\r\n"...)
	return w.extra
}

// redirect responds with the service's redirect.
func (w *worker) redirect(cl client.Client, f *table.Farm, p *table.Plan, rest []byte) int {
	close, used := w.bodyless(rest)
	sv, s := p.Service, cl.From().Stats()
	s.Redirects++
	s.Responses[2]++
	out := table.AppendRedirect(w.loop.Scratch[:0], sv.Redirect.Code, p.Location, sv.Redirect.STS, close)
	w.recordOwn(cl, f, sv, 0, "", sv.Redirect.Code, len(out))
	w.send(cl, out, close)
	return used
}

// bodyless reports whether the connection must close after a response now. This is the case
// if an unread body follows, and for HTTP/1.0 clients, because generated responses do not
// offer them keep-alive.
func (w *worker) bodyless(rest []byte) (close bool, used int) {
	if w.req.Body() != http1.BodyNone {
		return true, len(rest)
	}
	return !w.req.KeepAlive || w.req.Minor == 0, 0
}

func (w *worker) send(cl client.Client, out []byte, close bool) {
	cl.From().Stats().BytesOut += uint64(len(out))
	cl.Answer(out, close)
}

// fail responds to an exchange without a response head to forward, and ends it.
func (ex *exchange) fail(status int) { ex.failWith(status, nil) }

// failWith is fail with additional field lines.
func (ex *exchange) failWith(status int, lines []byte) {
	last := ex.closes()
	ex.answerOwn(status, ex.farm.Answers.AppendWith(ex.w.loop.Scratch[:0], status, lines, ex.verb == http1.VerbHEAD, last), last)
}

// closes reports whether the client connection ends after a generated response.
func (ex *exchange) closes() bool { return !ex.keepClient || !ex.request.done() || ex.oldClient }

// answerOwn ends the exchange with a generated response.
func (ex *exchange) answerOwn(status int, out []byte, last bool) {
	cl, s := ex.client, ex.stats()
	s.Responses[status/100-1]++
	out = ex.record.insertID(ex.w, ex.farm, out)
	ex.record.generated(ex.w, ex.farm, status, len(out))
	ex.End()
	s.BytesOut += uint64(len(out))
	cl.Answer(out, last)
}

// refuse responds to a request that cannot be forwarded, usually because of its body
// framing.
func (ex *exchange) refuse(err error) {
	class, status, reason := rejected.Classify(err)
	ex.note(class, status, reason)
	rejected.Count(ex.stats(), class)
	ex.keepClient = false
	ex.fail(status)
}

// answerChallenge responds to an ACME challenge.
func (w *worker) answerChallenge(cl client.Client, f *table.Farm, rest []byte) int {
	close, used := w.bodyless(rest)
	text := f.Challenges[string(w.req.Path)]
	cl.From().Stats().Responses[1]++
	out := table.AppendStatus(w.loop.Scratch[:0], 200)
	out = append(out, "Content-Type: application/octet-stream\r\nCache-Control: no-store\r\n"...)
	out = table.AppendFraming(out, len(text), close)
	if w.req.Verb != http1.VerbHEAD {
		out = append(out, text...)
	}
	w.recordOwn(cl, f, nil, 0, "", 200, len(out))
	w.send(cl, out, close)
	return used
}

// answerReason returns why a backend's response is refused.
func answerReason(err error) string {
	if bad, ok := errors.AsType[*http1.Error](err); ok {
		return bad.Reason
	}
	if bad := backend.ErrorOf(err); bad != nil {
		return bad.Reason
	}
	return "malformed answer"
}

// note logs a refusal, as Peer.Note does before there is an exchange.
func (ex *exchange) note(class rejection.Class, status int, reason string) {
	ex.record.reject(ex.w, ex.farm, class, reason)
	ex.w.note(class, status, ex.farm.Name, reason, ex.peer.Conn.Peer(), netip.AddrPort{})
}

// noteBackend logs a fault of the backend.
func (ex *exchange) noteBackend(class rejection.Class, status int, reason string) {
	ex.record.reject(ex.w, ex.farm, class, reason)
	w := ex.w
	w.rejections.Add(w.loop.Now(), rejection.Event{
		Class: class, Status: uint16(status), Farm: ex.farm.Name, Reason: reason,
		Client: ex.peer.Conn.Peer(), Backend: ex.backend.Target.Addr, Alias: ex.backend.Alias,
	})
}

func (w *worker) note(class rejection.Class, status int, farm, reason string, client, backend netip.AddrPort) {
	w.rejections.Add(w.loop.Now(), rejection.Event{
		Class: class, Status: uint16(status), Farm: farm, Reason: reason, Client: client, Backend: backend,
	})
}
