package table

import (
	"bytes"
	"strings"

	"github.com/sluicelb/sluice/core/farm"
)

// Locate says which Location and Content-Location fields of responses are made
// to point to where the client is.
type Locate struct {
	On    bool // any are
	Own   bool // those that name the farm's own address too
	paths bool // the rules for paths are undone
}

// newLocate reads the mode of a service, or else its farm's.
func newLocate(f *farm.HTTP, s *farm.Service) Locate {
	mode := s.RewriteLocation
	if mode == "" {
		mode = f.RewriteLocation
	}
	switch mode {
	case farm.RewriteEnabled:
		return Locate{On: true, Own: true}
	case farm.RewriteEnabledBackends:
		return Locate{On: true}
	case farm.RewriteEnabledPath:
		return Locate{On: true, Own: true, paths: true}
	case farm.RewriteEnabledBackendsPath:
		return Locate{On: true, paths: true}
	}
	return Locate{}
}

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
