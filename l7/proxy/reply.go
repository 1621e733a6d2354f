package proxy

import "github.com/sluicelb/sluice/l7/http1"

// answer answers a request without a backend. It returns how many bytes of
// rest belong to the request.
func (w *worker) answer(cl *client, f *farmTable, status int, rest []byte) int {
	return w.answerWith(cl, f, nil, status, nil, rest)
}

// answerWith is answer for a service, nil when none was found, with more field
// lines.
func (w *worker) answerWith(cl *client, f *farmTable, sv *service, status int, lines, rest []byte) int {
	close, used := w.bodyless(rest)
	s := cl.stats()
	s.Responses[status/100-1]++
	out := f.answers.appendWith(w.loop.Scratch[:0], status, lines, w.req.Verb == http1.VerbHEAD, close)
	w.recordOwn(cl, f, sv, true, status, len(out))
	w.send(cl, out, close)
	return used
}

// refuse answers a request the farm does not take.
func (w *worker) refuse(cl *client, f *farmTable, no *refused, rest []byte) int {
	cl.note(no.class, no.status, no.reason)
	countRefused(cl.stats(), no.class)
	return w.answer(cl, f, no.status, rest)
}

// redirect answers with the service's redirect.
func (w *worker) redirect(cl *client, f *farmTable, sv *service, rest []byte) int {
	close, used := w.bodyless(rest)
	value, ok := w.redirection(sv)
	if !ok {
		cl.stats().BadRequests++
		cl.note(badTarget, 400, noRedirection)
		return w.answer(cl, f, 400, rest)
	}
	s := cl.stats()
	s.Redirects++
	s.Responses[2]++
	out := appendRedirect(w.loop.Scratch[:0], sv.code, value, sv.redirect.sts, close)
	w.recordOwn(cl, f, sv, true, sv.code, len(out))
	w.send(cl, out, close)
	return used
}

// noRedirection is what the log says when redirection has none.
const noRedirection = "the redirect made of it is no field value"

// redirection is where the service redirects the request at hand to; false when
// that can be no value of a field.
func (w *worker) redirection(sv *service) (http1.Value, bool) {
	w.location = sv.redirect.appendTo(w.location[:0], w.req.Host, w.req.Path, &w.rewrite)
	return http1.CheckValue(w.location)
}

// bodyless reports whether the connection has to close after an answer given
// now: it must when a body is still to come that nobody will read, and our own
// answers do not tell an HTTP/1.0 client that its connection stays.
func (w *worker) bodyless(rest []byte) (close bool, used int) {
	if w.req.Body() != http1.BodyNone {
		return true, len(rest)
	}
	return !w.req.KeepAlive || w.req.Minor == 0, 0
}

func (w *worker) send(cl *client, out []byte, close bool) {
	cl.stats().BytesOut += uint64(len(out))
	switch err := cl.answer(out); {
	case err != nil:
		cl.close()
	case close:
		cl.linger()
	}
}

// fail answers an exchange that got no response head to pass on, and ends it.
func (ex *exchange) fail(status int) { ex.failWith(status, nil) }

// failWith is fail with more field lines.
func (ex *exchange) failWith(status int, lines []byte) {
	cl, w, f := ex.client, ex.w, ex.farm
	complete := ex.request.done()
	close := !ex.keepClient || !complete || ex.oldClient
	head := ex.verb == http1.VerbHEAD
	s := ex.stats()
	s.Responses[status/100-1]++
	out := ex.ownID(f.answers.appendWith(w.loop.Scratch[:0], status, lines, head, close))
	ex.recordOwn(status, len(out))
	ex.end()
	s.BytesOut += uint64(len(out))
	if cl.answer(out) != nil {
		cl.close()
		return
	}
	if close {
		cl.linger()
		return
	}
	cl.resume()
}

// refuse answers a request that cannot be sent on, most often because its body
// breaks the rules of its framing.
func (ex *exchange) refuse(err error) {
	class, status, reason := classify(err)
	ex.note(class, status, reason)
	countRefused(ex.stats(), class)
	ex.keepClient = false
	ex.fail(status)
}
