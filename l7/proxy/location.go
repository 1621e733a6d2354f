package proxy

import (
	"bytes"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/l7/http1"
)

// rewriteLocations makes Location and Content-Location point to where the
// client is, if they point to the backend or to the farm's own address.
func (ex *exchange) rewriteLocations() {
	r := &ex.w.resp
	location, content := r.Find(http1.KnownLocation), r.Find(http1.KnownContentLocation)
	if location < 0 && content < 0 || ex.farm.rewrite == farm.RewriteDisabled || len(ex.host) == 0 {
		return
	}
	ex.w.location = ex.w.location[:0]
	ex.rewriteLocation(location)
	ex.rewriteLocation(content)
}

var schemePrefix = []byte("http://")

// rewriteLocation gives one field its new value, if it gets one.
func (ex *exchange) rewriteLocation(index int) {
	if index < 0 {
		return
	}
	w := ex.w
	v := w.resp.Value(index)
	if len(v) < len(schemePrefix) || !bytes.EqualFold(v[:len(schemePrefix)], schemePrefix) {
		return
	}
	rest := v[len(schemePrefix):]
	end := bytes.IndexAny(rest, "/?#")
	if end < 0 {
		end = len(rest)
	}
	if !ex.pointsHere(rest[:end]) {
		return
	}
	from := len(w.location)
	w.location = append(w.location, schemePrefix...)
	w.location = append(w.location, ex.host...)
	w.location = append(w.location, rest[end:]...)
	if value, ok := http1.CheckValue(w.location[from:]); ok {
		w.resp.Edit(index, value)
	}
}

// pointsHere reports whether an authority names the backend or, unless the
// mode looks at backends only, the farm itself.
func (ex *exchange) pointsHere(authority []byte) bool {
	if names(authority, ex.backend.origin) {
		return true
	}
	switch ex.farm.rewrite {
	case farm.RewriteEnabledBackends, farm.RewriteEnabledBackendsPath:
		return false
	}
	return names(authority, ex.farm.origin)
}

// names reports whether an authority names host:port, which it may shorten
// when the port is the scheme's own.
func names(authority []byte, hostPort string) bool {
	if string(authority) == hostPort {
		return true
	}
	const httpPort = ":80"
	n := len(hostPort) - len(httpPort)
	return n > 0 && hostPort[n:] == httpPort && string(authority) == hostPort[:n]
}
