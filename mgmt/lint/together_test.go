package lint_test

import (
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"testing"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/mgmt/lint"
)

func TestServicesAreComparedWithSeveralBeforeThem(t *testing.T) {
	const either = `(a|b)\.example$`
	for name, c := range map[string]struct {
		services []farm.Service
		want     []string
	}{
		"two hosts":               {[]farm.Service{{Name: "a", VHost: `a\.example`}, {Name: "b", VHost: `b\.example`}, {Name: "c", VHost: either}}, []string{"service-shadowed c a, b"}},
		"two hosts with paths":    {[]farm.Service{{Name: "a", VHost: `a\.example`, URL: "^/"}, {Name: "b", VHost: `b\.example`, URL: "^/"}, {Name: "c", VHost: either, URL: "^/shop"}}, []string{"service-shadowed c a, b"}},
		"two hosts with a dot":    {[]farm.Service{{Name: "a", VHost: `a\.example.`}, {Name: "b", VHost: `b\.example\.$`}, {Name: "c", VHost: either}}, []string{"service-shadowed c a, b"}},
		"a third host":            {[]farm.Service{{Name: "a", VHost: `a\.example`}, {Name: "b", VHost: `b\.example`}, {Name: "c", VHost: `[abc]\.example$`}}, nil},
		"one that is not needed":  {[]farm.Service{{Name: "a", VHost: `a\.example`}, {Name: "x", VHost: `a\.example`, URL: "^/x"}, {Name: "b", VHost: `b\.example`}, {Name: "c", VHost: either}}, []string{"service-shadowed x a", "service-shadowed c a, b"}},
		"two paths":               {[]farm.Service{{Name: "a", URL: "^/a"}, {Name: "b", URL: "^/b"}, {Name: "c", URL: "^/[ab]"}}, []string{"service-shadowed c a, b"}},
		"paths of any case":       {[]farm.Service{{Name: "a", URL: "^/a", IgnoreCase: true}, {Name: "b", URL: "^/b", IgnoreCase: true}, {Name: "c", URL: "^/[abAB]"}}, []string{"service-shadowed c a, b"}},
		"paths of this case":      {[]farm.Service{{Name: "a", URL: "^/a"}, {Name: "b", URL: "^/b"}, {Name: "c", URL: "^/[abAB]"}}, nil},
		"hosts and paths":         {[]farm.Service{{Name: "a", VHost: `a\.example`}, {Name: "b", VHost: `b\.example`, URL: "^/x"}, {Name: "c", VHost: either, URL: "^/x/"}}, []string{"service-shadowed c a, b"}},
		"one path is left":        {[]farm.Service{{Name: "a", VHost: `a\.example`}, {Name: "b", VHost: `b\.example`, URL: "^/x"}, {Name: "c", VHost: either, URL: "^/"}}, nil},
		"a cross":                 {[]farm.Service{{Name: "a", VHost: `a\.example`}, {Name: "x", URL: "^/x"}, {Name: "b", VHost: `b\.example`, URL: "^/y"}, {Name: "c", VHost: either, URL: "^/[xy]"}}, []string{"service-shadowed c a, x, b"}},
		"a header, and not it":    {[]farm.Service{{Name: "a", HeadRequire: []string{"^X-A: 1"}}, {Name: "b", HeadDeny: []string{"^X-A: 1"}}, {Name: "c"}}, []string{"service-shadowed c a, b"}},
		"a header, and another":   {[]farm.Service{{Name: "a", HeadRequire: []string{"^X-A: 1"}}, {Name: "b", HeadDeny: []string{"^X-A: "}}, {Name: "c"}}, nil},
		"a header one wants":      {[]farm.Service{{Name: "a", VHost: `a\.example`}, {Name: "b", VHost: `b\.example`, HeadRequire: []string{"^X-A: 1"}}, {Name: "c", VHost: either}}, nil},
		"a header both want":      {[]farm.Service{{Name: "a", VHost: `a\.example`}, {Name: "b", VHost: `b\.example`, HeadRequire: []string{"^X-A: "}}, {Name: "c", VHost: either, HeadRequire: []string{"^X-A: 1"}}}, []string{"service-shadowed c a, b"}},
		"those that share theirs": {[]farm.Service{{Name: "a", VHost: `a\.example`, Split: split(1)}, {Name: "b", VHost: `b\.example`, Split: split(1)}, {Name: "c", VHost: either, Split: split(1)}}, nil},
	} {
		var got []string
		for _, f := range lint.Look(shop(c.services...), cleanEvidence()) {
			if f.Code == lint.ServiceShadowed {
				got = append(got, findingLines([]lint.Finding{f})...)
			}
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

// A shadow by several services replaces the overlaps with each of them.
func TestShadowBySeveralIsFoundOnce(t *testing.T) {
	list := lint.Look(shop(farm.Service{Name: "a", VHost: `a\.example`, URL: "^/"}, farm.Service{Name: "b", VHost: `b\.example`, URL: "^/"}, farm.Service{Name: "c", VHost: `[ab]\.example$`}), cleanEvidence())
	if len(list) != 1 || list[0].Code != lint.ServiceShadowed || list[0].Example == nil || list[0].Severity != lint.Warning {
		t.Errorf("%q %+v", findingLines(list), list)
	}
}

// For random services, exactly those that get none of all possible requests are shadowed.
func TestShadowsAgreeWithRequests(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	hosts := []string{"", `a\.example`, `b\.example`, `c\.example`, `(a|b)\.example$`, `[abc]\.example$`, `[bc]\.example$`}
	paths := []string{"", "^/", "^/x", "^/y", "^/[xy]", "^/x/", "^/(x/|y)"}
	lines := []string{"^X-A: 1$", "^X-B: 1$"}
	some := func() []string {
		if r.IntN(4) > 0 {
			return nil
		}
		return []string{lines[r.IntN(len(lines))]}
	}
	several := 0
	for range 300 {
		var list []farm.Service
		for i := range 2 + r.IntN(5) {
			list = append(list, farm.Service{Name: fmt.Sprintf("s%d", i), VHost: hosts[r.IntN(len(hosts))], URL: paths[r.IntN(len(paths))], HeadRequire: some(), HeadDeny: some()})
		}
		reached := map[string]bool{}
		for _, h := range []string{"a.example", "b.example", "c.example", "d.example"} {
			for _, p := range []string{"/", "/x", "/x/", "/y", "/z"} {
				for set := range 4 {
					if name := first(list, h, p, lines, set); name != "" {
						reached[name] = true
					}
				}
			}
		}
		shadowed := map[string]bool{}
		for _, f := range lint.Look(shop(list...), cleanEvidence()) {
			if f.Code == lint.ServiceShadowed {
				shadowed[f.Service] = true
				if len(f.By) > len("s0") {
					several++
				}
			}
		}
		for _, s := range list {
			contradicts := slices.ContainsFunc(s.HeadRequire, func(wanted string) bool { return slices.Contains(s.HeadDeny, wanted) })
			if reached[s.Name] == shadowed[s.Name] && !contradicts {
				t.Errorf("%s: reached %v, shadowed %v of %s", s.Name, reached[s.Name], shadowed[s.Name], conditions(list))
			}
		}
	}
	if several < 10 {
		t.Errorf("%d shadows of several services", several)
	}
}

// first returns the first service that matches a request with some of the lines.
func first(list []farm.Service, host, path string, lines []string, set int) string {
	has := func(line string) bool { return set&(1<<slices.Index(lines, line)) != 0 }
	for _, s := range list {
		pattern := s.VHost
		if farm.IsHostName(pattern) {
			pattern += "$"
		}
		if regexp.MustCompile("^(?:"+pattern+")").MatchString(host) && regexp.MustCompile(s.URL).MatchString(path) &&
			!slices.ContainsFunc(s.HeadRequire, func(l string) bool { return !has(l) }) && !slices.ContainsFunc(s.HeadDeny, has) {
			return s.Name
		}
	}
	return ""
}

// conditions summarises the conditions of services.
func conditions(list []farm.Service) (out string) {
	for _, s := range list {
		out += fmt.Sprintf("[%s: %s %s +%q -%q]", s.Name, s.VHost, s.URL, s.HeadRequire, s.HeadDeny)
	}
	return out
}
