package table

import (
	"bytes"
	"strings"
)

// ProtoHTTP and ProtoHTTPS are the schemes of requests.
var ProtoHTTP, ProtoHTTPS = []byte("http"), []byte("https")

// CutURL cuts a reference into the scheme (empty: that of the request), the
// authority (empty: a path of the same place) and the rest. Of a reference with
// a scheme we do not speak nothing is given.
func CutURL(v []byte) (scheme, authority, path []byte) {
	i := bytes.IndexAny(v, ":/?#")
	if i > 0 && v[i] == ':' {
		scheme, v = v[:i], v[i+1:]
		if !bytes.EqualFold(scheme, ProtoHTTP) && !bytes.EqualFold(scheme, ProtoHTTPS) || !bytes.HasPrefix(v, slashes) {
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

// Names reports whether an authority names host:port. Both may leave out the
// port that is the scheme's own.
func Names(scheme, authority []byte, hostPort string) bool {
	usual := ":80"
	if len(scheme) == len(ProtoHTTPS) {
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
