package proxy

import (
	"bytes"
	"strings"

	"github.com/sluicelb/sluice/l7/http1"
	"github.com/sluicelb/sluice/l7/table"
)

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
	scheme, authority, path := cutURL(w.resp.Value(index))
	changed := false
	switch {
	case len(authority) > 0:
		if !ex.pointsHere(scheme, authority) {
			return
		}
		w.location = append(w.location, ex.client.proto()...)
		w.location = append(w.location, "://"...)
		w.location = append(w.location, ex.host...)
		w.location, _ = ex.undo.Append(w.location, path)
		changed = true
	case len(path) > 0 && path[0] == '/':
		w.location, changed = ex.undo.Append(w.location, path)
	}
	if value, ok := http1.CheckValue(w.location[from:]); ok && changed {
		w.resp.Edit(index, value)
	}
}

// cutURL cuts a reference into the scheme (empty: that of the request), the
// authority (empty: a path of the same place) and the rest. Of a reference with
// a scheme we do not speak nothing is given.
func cutURL(v []byte) (scheme, authority, path []byte) {
	i := bytes.IndexAny(v, ":/?#")
	if i > 0 && v[i] == ':' {
		scheme, v = v[:i], v[i+1:]
		if !bytes.EqualFold(scheme, protoHTTP) && !bytes.EqualFold(scheme, protoHTTPS) || !bytes.HasPrefix(v, slashes) {
			return nil, nil, nil
		}
	}
	if !bytes.HasPrefix(v, slashes) {
		return nil, nil, v
	}
	v = v[len(slashes):]
	end := bytes.IndexAny(v, "/?#")
	if end < 0 {
		end = len(v)
	}
	return scheme, v[:end], v[end:]
}

var slashes = []byte("//")

// pointsHere reports whether an authority names the backend or, unless the mode
// looks at backends only, the farm itself. A backend that speaks plain HTTP
// often takes the client's host for a plain one too: on an https listener
// http:// with that host is the farm's own address with the wrong scheme.
func (ex *exchange) pointsHere(scheme, authority []byte) bool {
	proto := ex.client.proto()
	if len(scheme) == 0 {
		scheme = proto
	}
	b := ex.backend
	if names(scheme, authority, b.Origin) || names(scheme, authority, b.Named) {
		return true
	}
	if !ex.service.Locate.Own {
		return false
	}
	return names(scheme, authority, ex.farm.Origin) ||
		len(proto) == len(protoHTTPS) && len(scheme) == len(protoHTTP) && bytes.EqualFold(table.WithoutPort(authority), table.WithoutPort(ex.host))
}

// names reports whether an authority names host:port. Both may leave out the
// port that is the scheme's own.
func names(scheme, authority []byte, hostPort string) bool {
	usual := ":80"
	if len(scheme) == len(protoHTTPS) {
		usual = ":443"
	}
	a, h := authority, hostPort
	if n := len(a) - len(usual); n > 0 && string(a[n:]) == usual {
		a = a[:n]
	}
	h = strings.TrimSuffix(h, usual)
	return len(a) == len(h) && equalFold(a, h)
}

// equalFold compares ASCII text without regard to case.
func equalFold(a []byte, b string) bool {
	for i := range a {
		c, d := a[i], b[i]
		if c != d && (c|0x20 != d|0x20 || c|0x20 < 'a' || c|0x20 > 'z') {
			return false
		}
	}
	return true
}
