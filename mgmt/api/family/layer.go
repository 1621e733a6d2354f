package family

import (
	"context"
	"net/http"
	"strings"

	"github.com/sluicelb/sluice/core/farm"
)

// layer stands between who asks and the operations.
type layer struct {
	next http.Handler
	// config is the configuration in force for a request, and the number of its revision.
	config func(context.Context) (*farm.Config, uint64)
	// sameCommand reports whether two commands of checks ask the same.
	sameCommand func(a, b string) bool
}

// Over puts the translation over the operations. Who asks is known already: next is
// asked in the name of the same, more than once where an answer needs it.
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

// call is a request of a client with what there is to do about it.
type call struct {
	*layer
	w http.ResponseWriter
	r *http.Request
	g generation
	// at are the segments of the path.
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
		if c.r.URL.RawQuery != "" { // only tried, or on trial
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

// is reports whether the call has a method and a path; * is any name.
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
	// /farms/modules/… is about all farms
	return len(c.at) < 2 || c.at[0] != "farms" || c.at[1] != "modules"
}

// pass has the operation answer by itself.
func (c *call) pass() { c.next.ServeHTTP(c.w, c.r) }
