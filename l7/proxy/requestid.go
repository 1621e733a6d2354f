package proxy

import (
	"bytes"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/l7/table"
)

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
