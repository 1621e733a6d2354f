package proxy

import (
	"github.com/sluicelb/sluice/l7/http1"
	"github.com/sluicelb/sluice/l7/table"
)

// rewriteLocation rewrites one field if necessary.
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
		w.location, _ = ex.outgoing.Undo.Append(w.location, path)
		changed = true
	case len(path) > 0 && path[0] == '/':
		w.location, changed = ex.outgoing.Undo.Append(w.location, path)
	}
	if value, ok := http1.CheckValue(w.location[from:]); ok && changed {
		w.resp.Edit(index, value)
	}
}

// pointsHere reports whether an authority names the backend or, depending on the mode, the
// farm itself. A plain HTTP backend often uses the client's host with http:. On an https
// listener this is the farm's own address with the wrong scheme.
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
		len(proto) == len(table.ProtoHTTPS) && len(scheme) == len(table.ProtoHTTP) && table.SameHost(authority, ex.host)
}
