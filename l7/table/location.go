package table

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/sluicelb/sluice/core/ascii"
	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/l7/http1"
	"github.com/sluicelb/sluice/l7/rewrite"
)

// Redirect is the redirect of a service. The text may contain ${VHOST}, the requested host,
// and $1 to $9, the groups of the service's URL pattern.
type Redirect struct {
	text    *rewrite.Template
	url     *rewrite.Pattern // set if the text uses its groups
	appends bool             // the path of the request is appended
	Code    int              // status
	STS     []byte           // Strict-Transport-Security line; nil without one
}

// newRedirect compiles a service's redirect, or returns nil if it has none.
func newRedirect(f *farm.Farm, s *farm.Service) (r *Redirect, err error) {
	if s.Redirect == "" {
		return nil, nil
	}
	r = &Redirect{appends: s.RedirectType == farm.RedirectAppend, Code: cmp.Or(s.RedirectCode, farm.DefaultRedirectCode)}
	if !slices.Contains(farm.RedirectCodes(), r.Code) {
		return nil, fmt.Errorf("%d is no code of a redirect", s.RedirectCode)
	}
	if f.HTTPS() && s.STS > 0 {
		r.STS = stsLine(s)
	}
	if r.text, err = rewrite.CompileTemplate(s.Redirect, true); err != nil {
		return nil, err
	}
	if r.text.Grouped() {
		r.url, err = rewrite.CompilePattern(s.URL, f.HTTP.IgnoreCase || s.IgnoreCase)
	}
	return r, err
}

// appendTo appends the location for a request. Groups refer to the canonical path, which the
// URL pattern matched. The appended path is the client's original.
func (r *Redirect) appendTo(dst []byte, req *http1.Request, s *rewrite.Scratch) []byte {
	var g rewrite.Groups
	if r.url != nil {
		r.url.Find(req.Path, &g, s)
	}
	dst = r.text.Append(dst, req.Path, &g, req.Host)
	if r.appends {
		dst = append(trimSlash(dst), req.Sent...)
	}
	return dst
}

func trimSlash(b []byte) []byte {
	if n := len(b); n > 0 && b[n-1] == '/' {
		return b[:n-1]
	}
	return b
}

// Locate selects which Location and Content-Location fields of responses are rewritten for
// the client.
type Locate struct {
	On    bool // at least one kind is rewritten
	Own   bool // including URLs with the farm's own address
	paths bool // path rewriting is reversed
}

// newLocate compiles the mode of a service, or that of its farm by default.
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

// CutURL splits a reference into scheme (empty: that of the request), authority (empty: the
// same server) and the rest. All parts are empty for other schemes than http and https.
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

// Names reports whether an authority equals host:port. Both may omit the default port of the
// scheme.
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
	return ascii.EqualFold(a, h)
}
