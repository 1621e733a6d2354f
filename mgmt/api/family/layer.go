package family

import (
	"context"
	"net/http"
	"strings"

	"github.com/sluicelb/sluice/core/farm"
)

// layer wraps the operations.
type layer struct {
	next http.Handler
	// config returns the current configuration of a request and its revision.
	config func(context.Context) (*farm.Config, uint64)
	// sameCommand reports whether two check commands are equivalent.
	sameCommand func(a, b string) bool
}

// Over wraps the operations in the translation. The caller is already authenticated; next
// runs on the caller's behalf, possibly several times.
func Over(next http.Handler, config func(context.Context) (*farm.Config, uint64), sameCommand func(a, b string) bool) http.Handler {
	l := &layer{next, config, sameCommand}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		path, is := strings.CutPrefix(r.URL.Path, Base+"/")
		if !is {
			next.ServeHTTP(w, r)
			return
		}
		g, is := older(r.Context())
		nf := &notFoundWriter{ResponseWriter: w, asked: g.base()}
		defer nf.end()
		c := &call{l, nf, r, g, strings.Split(path, "/")}
		if c.is("PUT farms *") || c.is("PUT farms * services *") || c.is("PUT farms * backends *") || c.is("PUT farms * services * backends *") {
			c.leaveOut(ours)
		}
		if is {
			c.translate()
			return
		}
		c.pass()
	})
}

// call is a client's request in translation.
type call struct {
	*layer
	w http.ResponseWriter
	r *http.Request
	g generation
	// at holds the segments of the path.
	at []string
}

// translate serves a request of a deprecated generation.
func (c *call) translate() {
	switch {
	case c.is("PUT farms * fg") && c.g.inline:
		c.guardian()
	case c.is("GET system users zapi"), c.is("POST system users zapi"), c.is("POST system users root"):
		c.account()
	case c.is("PUT farms * services *"):
		c.leaveOut(c.serviceFields())
		if c.r.URL.RawQuery != "" { // dry run or trial
			c.pass()
			return
		}
		c.answer(c.changedService)
	case c.is("PUT farms *"):
		c.leaveOut(c.farmFields())
		c.pass()
	case c.is("PUT farms * backends *"), c.is("PUT farms * services * backends *"):
		c.leaveOut(backendAnswer)
		c.pass()
	case c.is("GET farms *"), c.is("GET farms * summary"):
		c.answer(c.farm)
	case c.is("GET farms * services *"):
		c.answer(c.service)
	case c.is("GET farms * backends"), c.is("GET farms * services * backends"):
		c.answer(func(body map[string]any) { known(list(body["params"])) })
	default:
		c.pass()
	}
}

// is reports whether the call has the given method and path; * matches any name.
func (c *call) is(what string) bool {
	want := strings.Fields(what)
	if len(want) != len(c.at)+1 || want[0] != c.r.Method {
		return false
	}
	for i, segment := range want[1:] {
		if segment != "*" && segment != c.at[i] {
			return false
		}
	}
	// /farms/modules/… concerns all farms
	return len(c.at) < 2 || c.at[0] != "farms" || c.at[1] != "modules"
}

// pass forwards the call unchanged.
func (c *call) pass() { c.next.ServeHTTP(c.w, c.r) }
