package proxy

import (
	"bytes"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/core/session"
	"github.com/sluicelb/sluice/l7/http1"
	"github.com/sluicelb/sluice/l7/table"
)

// applyRules changes the fields of the response as the service's rules say.
func (ex *exchange) applyRules() error {
	rules := ex.service.Response
	if rules == nil {
		return nil
	}
	w := ex.w
	w.rewrite.Reset()
	return rules.Apply(&w.resp.Head, &w.rewrite)
}

// withCookie adds the line that keeps the client on its backend to what the
// response gets besides its own fields, unless the client is known there.
func (ex *exchange) withCookie(add []byte) []byte {
	if ex.backend.SetCookie == nil || ex.Cookie > 0 && &ex.service.Backends[ex.Cookie-1] == ex.backend {
		return add
	}
	return ex.w.join(add, ex.backend.SetCookie)
}

// rewriteHead builds the head the client gets in the scratch buffer.
func (ex *exchange) rewriteHead(unchunk bool) []byte {
	w := ex.w
	o := http1.ResponseOptions{
		Close: !ex.keepClient, KeepAlive: ex.keepClient && ex.oldClient, Unchunk: unchunk,
	}
	if rules := ex.service.Response; rules != nil {
		o.Extra = rules.Add
	}
	o.Extra = ex.answerID(o.Extra)
	ex.rewriteLocations()
	o.Extra = ex.withServedBy(ex.withCookie(o.Extra))
	if ex.service.Compress != nil {
		o.Extra = ex.withEncoding(o.Extra)
	}
	w.loop.Scratch = http1.AppendResponse(w.loop.Scratch[:0], &w.resp, &o)
	return w.loop.Scratch
}

// learn takes the session a backend opens in its response: the cookie it
// sets, or the header it sends, is what the client comes back with.
func (ex *exchange) learn() {
	sv := ex.service
	if sv.Sessions == nil {
		return
	}
	r := &ex.w.resp
	var key []byte
	switch sv.Persist.Kind {
	case farm.PersistCookie:
		key = table.FindCookie(&r.Head, http1.KnownSetCookie, sv.Persist.Name)
	case farm.PersistHeader:
		if i := r.Lookup(string(sv.Persist.Name)); i >= 0 {
			key = r.Value(i)
		}
	}
	if len(key) > 0 {
		sv.Sessions.Put(key[:min(len(key), table.MaxKey)], ex.backend.ID, session.Now())
		ex.stats().Forgotten += sv.Sessions.Forgotten()
	}
}

// withServedBy adds who served the request to the lines an answer gets besides
// its own, and keeps what the backend says of it from being passed on: the
// field tells one thing, whoever else may write it.
func (ex *exchange) withServedBy(add []byte) []byte {
	name := ex.service.ServedBy
	if name == "" {
		return add
	}
	h := &ex.w.resp.Head
	for i := h.Lookup(name); i >= 0; i = h.Lookup(name) {
		if !h.Remove(i) {
			break
		}
	}
	return ex.w.join(add, ex.backend.ServedBy)
}

// join gives lines followed by more. The result is good until the next call on
// the loop, which may be given it.
func (w *worker) join(lines, more []byte) []byte {
	switch {
	case len(more) == 0:
		return lines
	case len(lines) == 0:
		return more
	}
	w.extra = append(append(w.extra[:0], lines...), more...)
	return w.extra
}

// takeID finds the id of the exchange when its farm wants one: that of a
// trusted peer, or a new one.
func (ex *exchange) takeID() {
	f := ex.farm
	if f.Recording.ID == farm.RequestIDOff {
		return
	}
	ex.id = ex.w.query.AppendID(ex.id[:0], ex.w.records.ids)
}

// withID adds the id of the exchange, if it has one, to field lines. The
// result is good until the next call on the loop.
func (ex *exchange) withID(lines []byte) []byte {
	if len(ex.id) == 0 {
		return lines
	}
	rec := &ex.w.records
	rec.extra = table.AppendIDLine(append(rec.extra[:0], lines...), ex.id)
	return rec.extra
}

// answerID adds the id to the field lines of the answer if the client is to
// have it, and keeps the backend's own from it.
func (ex *exchange) answerID(lines []byte) []byte {
	if ex.farm.Recording.ID != farm.RequestIDBoth {
		return lines
	}
	table.RemoveIDs(&ex.w.resp.Head)
	return ex.withID(lines)
}

// ownID puts the id into an answer of our own, behind its first line.
func (ex *exchange) ownID(out []byte) []byte {
	if ex.farm.Recording.ID != farm.RequestIDBoth {
		return out
	}
	at := bytes.IndexByte(out, '\n') + 1
	field := ex.withID(nil)
	out = append(out, field...)
	copy(out[at+len(field):], out[at:len(out)-len(field)])
	copy(out[at:], field)
	return out
}

// rewriteLocations makes Location and Content-Location point to where the
// client is, if they point to the backend or to the farm's own address.
func (ex *exchange) rewriteLocations() {
	r := &ex.w.resp
	location, content := r.Find(http1.KnownLocation), r.Find(http1.KnownContentLocation)
	if location < 0 && content < 0 || !ex.service.Locate.On || len(ex.host) == 0 {
		return
	}
	ex.w.location = ex.w.location[:0]
	ex.rewriteLocation(location)
	ex.rewriteLocation(content)
}

// rewriteLocation gives one field its new value, if it gets one.
func (ex *exchange) rewriteLocation(index int) {
	if index < 0 {
		return
	}
	w := ex.w
	from := len(w.location)
	scheme, authority, path := table.CutURL(w.resp.Value(index))
	changed := false
	switch {
	case len(authority) > 0:
		if !ex.pointsHere(scheme, authority) {
			return
		}
		w.location = append(w.location, ex.peer.Scheme()...)
		w.location = append(w.location, "://"...)
		w.location = append(w.location, ex.host...)
		w.location, _ = ex.Undo.Append(w.location, path)
		changed = true
	case len(path) > 0 && path[0] == '/':
		w.location, changed = ex.Undo.Append(w.location, path)
	}
	if value, ok := http1.CheckValue(w.location[from:]); ok && changed {
		w.resp.Edit(index, value)
	}
}

// pointsHere reports whether an authority names the backend or, unless the mode
// looks at backends only, the farm itself. A backend that speaks plain HTTP
// often takes the client's host for a plain one too: on an https listener
// http:// with that host is the farm's own address with the wrong scheme.
func (ex *exchange) pointsHere(scheme, authority []byte) bool {
	proto := ex.peer.Scheme()
	if len(scheme) == 0 {
		scheme = proto
	}
	b := ex.backend
	if table.Names(scheme, authority, b.Origin) || table.Names(scheme, authority, b.Named) {
		return true
	}
	if !ex.service.Locate.Own {
		return false
	}
	return table.Names(scheme, authority, ex.farm.Origin) ||
		len(proto) == len(table.ProtoHTTPS) && len(scheme) == len(table.ProtoHTTP) && bytes.EqualFold(table.WithoutPort(authority), table.WithoutPort(ex.host))
}
