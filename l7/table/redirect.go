package table

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/l7/rewrite"
)

// Redirect is where a service sends its clients, and how. The text may hold ${VHOST},
// the host the client asked for, and $1 to $9, what the groups of the service's
// URL rule matched.
type Redirect struct {
	text    *rewrite.Template
	url     *rewrite.Pattern // set when the text needs its groups
	appends bool             // the path of the request follows
	Code    int              // the status
	STS     []byte           // the line of Strict-Transport-Security; nil without it
}

// newRedirect compiles a service's redirect; nil when it has none.
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

// appendTo appends the address for a request to the given host and path.
func (r *Redirect) appendTo(dst, host, path []byte, s *rewrite.Scratch) []byte {
	var g rewrite.Groups
	if r.url != nil {
		r.url.Find(path, &g, s)
	}
	dst = r.text.Append(dst, path, &g, host)
	if r.appends {
		dst = append(trimSlash(dst), path...)
	}
	return dst
}

func trimSlash(b []byte) []byte {
	if n := len(b); n > 0 && b[n-1] == '/' {
		return b[:n-1]
	}
	return b
}
