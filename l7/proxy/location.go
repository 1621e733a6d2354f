package proxy

import (
	"bytes"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/l7/http1"
)

// rewriteLocations makes Location and Content-Location point to where the
// client is, if they point to the backend or to the farm's own address.
func (ex *exchange) rewriteLocations(o *http1.ResponseOptions) {
	if ex.farm.rewrite == farm.RewriteDisabled || len(ex.host) == 0 {
		return
	}
	w := ex.w
	w.location = w.location[:0]
	o.Location = ex.rewriteLocation(w.resp.LocationIndex)
	o.ContentLocation = ex.rewriteLocation(w.resp.ContentLocationIndex)
}

var schemePrefix = []byte("http://")

// rewriteLocation returns the new value of one field, the zero Value when it
// stays as it is.
func (ex *exchange) rewriteLocation(index int) http1.Value {
	if index < 0 {
		return http1.Value{}
	}
	w := ex.w
	v := w.resp.Value(index)
	if len(v) < len(schemePrefix) || !bytes.EqualFold(v[:len(schemePrefix)], schemePrefix) {
		return http1.Value{}
	}
	rest := v[len(schemePrefix):]
	end := bytes.IndexAny(rest, "/?#")
	if end < 0 {
		end = len(rest)
	}
	if !ex.pointsHere(rest[:end]) {
		return http1.Value{}
	}
	from := len(w.location)
	w.location = append(w.location, schemePrefix...)
	w.location = append(w.location, ex.host...)
	w.location = append(w.location, rest[end:]...)
	value, _ := http1.CheckValue(w.location[from:])
	return value
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
