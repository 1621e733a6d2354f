package proxy

import (
	"github.com/sluicelb/sluice/l7/http1"
)

// prepare makes the request a backend gets in the loop's scratch buffer: head
// and as much of the body as has come.
func (ex *exchange) prepare(rest []byte) (used int, err error) {
	if err := ex.revise(); err != nil {
		return 0, err
	}
	return ex.assemble(rest)
}

// revise finds out who the client is and applies the service's rules. Sessions
// go by what the client sent, not by what rules make of it.
func (ex *exchange) revise() error {
	w := ex.w
	w.forward = http1.Forward{ClientIP: w.query.Peer(), Proto: ex.client.proto()}
	rules := ex.service.Request
	if rules != nil {
		w.rewrite.Reset()
		rules.Strip(&w.req.Head, &w.rewrite)
		w.forward.Extra, w.forward.Given = rules.Add, rules.Given
	}
	ex.hash = ex.identify()
	if ex.service.Auth != nil {
		ex.service.Auth.Strip(&w.req.Head)
	}
	if rules != nil {
		if err := rules.Edit(&w.req.Head, &w.rewrite); err != nil {
			return err
		}
	}
	if ex.service.URLs != nil {
		if err := ex.rewritePath(); err != nil {
			return err
		}
	}
	if len(w.req.Host) == 0 {
		w.forward.Host = ex.farm.HostField // HTTP/1.0 without Host: HTTP/1.1 needs one
	}
	if t := ex.farm.TLS; t != nil && t.TellsClients {
		w.forward.Extra = ex.withCertificate(w.forward.Extra)
	}
	ex.requestID()
	if ex.farm.ProxyHost || ex.farm.Destination {
		ex.addressing() // last: it knows how far from its end the head has a hole
	}
	return nil
}

// rewritePath applies the service's rules to the path. What comes of it is read
// like the path of a client, and refused where that would be.
func (ex *exchange) rewritePath() error {
	r, scratch := &ex.w.req, &ex.w.rewrite
	if r.Path[0] != '/' {
		return nil // OPTIONS *
	}
	if ex.service.Request == nil {
		scratch.Reset()
	}
	path, changed, err := ex.service.URLs.Rewrite(r.Path, scratch, ex.w.rewritten)
	if !changed || err != nil {
		return err
	}
	if ex.service.Locate.Paths {
		ex.w.location = append(ex.w.location[:0], r.Path...)
	}
	if err := r.Retarget(path); err != nil {
		return err
	}
	if ex.service.Locate.Paths {
		ex.undo.Learn(ex.w.location, r.Path)
	}
	return nil
}

// appendHead appends the head of the request.
func (ex *exchange) appendHead(dst []byte) []byte {
	out := http1.AppendRequest(dst, &ex.w.req, &ex.w.forward)
	if ex.farm.ProxyHost || ex.tail > 0 {
		ex.mark(out)
	}
	return out
}

// assemble writes the request.
func (ex *exchange) assemble(rest []byte) (used int, err error) {
	w := ex.w
	out := ex.appendHead(w.loop.Scratch[:0])
	in, n, err := ex.request.take(rest, ex.service.Multiplexed)
	if err != nil {
		return 0, err
	}
	out = append(out, rest[:n]...)
	if !ex.service.Multiplexed { // else transmit asks for it
		out = append(out, ex.requestTrailer()...)
	}
	w.loop.Scratch = out
	ex.client.stats().BytesIn += uint64(in)
	ex.recordMoved(uint64(in), 0)
	return in, nil
}
