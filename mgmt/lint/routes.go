package lint

import (
	"fmt"
	"slices"
	"strings"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/mgmt/lint/language"
)

// mostOverlaps bounds the reported overlaps of a farm; others are counted.
const mostOverlaps = 20

// route is the matching of a service, prepared for comparison.
type route struct {
	*farm.Service
	host, path expression
	// begins holds the prefixes of hosts and paths, where known.
	begins [2]string
	known  [2]bool
	run    int // number of the group of adjacent services that share requests; 0: none
}

// routesOf returns the routes of a farm.
func routesOf(f *farm.Farm) []route {
	list := f.Services()
	out := make([]route, len(list))
	run := 0
	for i := range list {
		s := &list[i]
		r := route{Service: s, host: expression{host, s.VHost}, path: expression{path, s.URL}}
		if f.IgnoresCase(s) {
			r.path.kind = pathAnyCase
		}
		r.begins[0], r.known[0] = beginning(s.VHost, true)
		r.begins[1], r.known[1] = beginning(s.URL, false)
		if s.Split != nil {
			if i == 0 || list[i-1].Split == nil {
				run++
			}
			r.run = run
		}
		out[i] = r
	}
	return out
}

// never reports whether the prefixes show that two services have no requests in common.
func (r *route) never(other *route) bool {
	for i := range r.begins {
		if r.known[i] && other.known[i] && apart(r.begins[i], other.begins[i]) {
			return true
		}
	}
	return false
}

// routes compares each service of a farm with the earlier ones, and returns the positions
// of shadowed ones.
func (l *look) routes(f *farm.Farm) (shadowed map[int]bool) {
	list := routesOf(f)
	shadowed = map[int]bool{}
	overlaps, unknown, begin := 0, 0, len(l.out)
	for j := range list {
		r := &list[j]
		if l.impossible(f, r) {
			shadowed[j] = true // no further findings about it
			continue
		}
		for i := range list[:j] {
			before := &list[i]
			if shadowed[i] || before.never(r) || before.run != 0 && before.run == r.run {
				continue
			}
			switch l.relation(before, r) {
			case language.Yes:
				shadowed[j] = true
				l.shadow(f, before, r)
			case language.Unknown:
				unknown++
			default:
				if l.overlap(f, before, r, overlaps < mostOverlaps) {
					overlaps++
				}
			}
			if shadowed[j] {
				break
			}
		}
	}
	l.together(f, list, shadowed, begin)
	if overlaps > mostOverlaps {
		l.add(Finding{Code: ServiceOverlap, Severity: Info, Farm: f.Name,
			Message:  fmt.Sprintf("%d more pairs of services overlap", overlaps-mostOverlaps),
			Evidence: "their expressions", Advice: "look at those that are named first"})
	}
	if unknown > 0 {
		l.add(Finding{Code: ServicesUncompared, Severity: Info, Farm: f.Name,
			Message:  fmt.Sprintf("%d pairs of services were not compared", unknown),
			Evidence: "their expressions are too large, or there are too many of them",
			Advice:   fmt.Sprintf("ask for this farm alone (sluice farm lint %s); write simpler expressions", f.Name)})
	}
	return shadowed
}

// impossible reports a service that no request can match.
func (l *look) impossible(f *farm.Farm, r *route) bool {
	for _, c := range []struct {
		field string
		own   expression
		why   string
	}{
		{"vhost", r.host, "no host is matched by it from its first letter on"},
		{"urlp", r.path, "all paths begin with a slash"},
	} {
		if c.own.text == "" {
			continue
		}
		if answer, _ := l.compare.common(c.own, expression{c.own.kind, ""}); answer == language.No {
			l.add(Finding{Code: ServiceImpossible, Severity: Warning, Farm: f.Name, Service: r.Name, Field: c.field,
				Message:  fmt.Sprintf("no request can match service %s: %s %s takes nothing", r.Name, c.field, c.own.text),
				Evidence: c.why, Advice: fmt.Sprintf("write another %s, or delete the service", c.field)})
			return true
		}
	}
	return false
}

// relation reports whether the earlier service matches everything that r matches.
func (l *look) relation(before, r *route) language.Answer {
	all := l.conditions(before, r)
	for _, c := range [][2]expression{{r.host, before.host}, {r.path, before.path}} {
		if all == language.No {
			break
		}
		if answer := l.compare.inside(c[0], c[1]); answer != language.Yes {
			all = answer
			if answer == language.No {
				break
			}
		}
	}
	return all
}

// conditions reports whether the header conditions of r imply the conditions of the earlier
// service. That is the case if r requires every line that the earlier one requires, equally or
// more strictly, and denies every line that it denies.
func (l *look) conditions(before, r *route) language.Answer {
	implied := func(by []string, ask func(string) language.Answer) language.Answer {
		answer := language.No
		for _, own := range by {
			switch ask(own) {
			case language.Yes:
				return language.Yes
			case language.Unknown:
				answer = language.Unknown
			}
		}
		return answer
	}
	all := language.Yes
	worse := func(answer language.Answer) {
		if answer == language.No || answer == language.Unknown && all == language.Yes {
			all = answer
		}
	}
	for _, wanted := range before.HeadRequire {
		worse(implied(r.HeadRequire, func(own string) language.Answer {
			return l.compare.inside(expression{line, own}, expression{line, wanted})
		}))
	}
	for _, denied := range before.HeadDeny {
		worse(implied(r.HeadDeny, func(own string) language.Answer {
			return l.compare.inside(expression{line, denied}, expression{line, own})
		}))
	}
	return all
}

// request returns a request that both match; false if there is none or it is unknown.
func (l *look) request(a, b *route) (*Example, bool) {
	hosts, h := l.compare.common(a.host, b.host)
	if hosts != language.Yes {
		return nil, false
	}
	paths, p := l.compare.common(a.path, b.path)
	return &Example{Host: h, Path: p}, paths == language.Yes
}

func (l *look) shadow(f *farm.Farm, before, r *route) {
	example, known := l.request(r, before)
	if !known {
		example = nil
	}
	out := Finding{Code: ServiceShadowed, Severity: Warning, Farm: f.Name, Service: r.Name, By: before.Name, Example: example,
		Message:  fmt.Sprintf("service %s gets no request: service %s is before it and takes all it would take", r.Name, before.Name),
		Evidence: compared(r, before),
		Advice: fmt.Sprintf("move it before (sluice service move %s %s %d), narrow %s, or delete it",
			f.Name, r.Name, slices.IndexFunc(f.Services(), func(s farm.Service) bool { return s.Name == before.Name }), before.Name)}
	if example != nil {
		out.Advice += "; see: " + explain(f, example)
	}
	l.add(out)
}

// overlap reports services that have requests in common without one being a special case of
// the other. A special service before a general one is good practice.
func (l *look) overlap(f *farm.Farm, before, r *route, tell bool) bool {
	if len(before.HeadRequire)+len(before.HeadDeny)+len(r.HeadRequire)+len(r.HeadDeny) > 0 {
		return false // distinguished by header lines
	}
	if l.relation(r, before) != language.No {
		return false
	}
	example, both := l.request(before, r)
	if both && tell {
		l.add(Finding{Code: ServiceOverlap, Severity: Info, Farm: f.Name, Service: r.Name, By: before.Name, Example: example,
			Message:  fmt.Sprintf("services %s and %s take some requests both: %s gets these, because it is first", before.Name, r.Name, before.Name),
			Evidence: compared(r, before),
			Advice:   "nothing if that is meant; see: " + explain(f, example)})
	}
	return both
}

// compared describes the compared routes.
func compared(r, before *route) string { return routeText(before) + "; " + routeText(r) }

// routeText describes a service with its compared expressions.
func routeText(r *route) string {
	out := r.Name + ":"
	for _, field := range [][2]string{{"vhost", r.VHost}, {"urlp", r.URL}} {
		if field[1] == "" {
			field[1] = "(any)"
		}
		out += " " + field[0] + " " + field[1]
	}
	return out
}

// explain returns the command that shows the handling of an example.
func explain(f *farm.Farm, r *Example) string {
	out := fmt.Sprintf("sluice explain %s %s", f.Name, shellWord(r.Path))
	if r.Host != "" {
		out += " -H " + shellWord("Host: "+r.Host)
	}
	return out
}

// shellWord quotes a text for a shell.
func shellWord(text string) string {
	return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'"
}
