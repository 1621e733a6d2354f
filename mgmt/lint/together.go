package lint

import (
	"fmt"
	"regexp/syntax"
	"slices"
	"strings"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/mgmt/lint/language"
)

const (
	// togetherSteps bounds the total steps of comparisons with several services.
	togetherSteps = allSteps / 4
	// mostBranching bounds the services that a request can avoid in more than one way.
	// Ignoring further ones may miss findings, but never adds wrong ones.
	mostBranching = 10
	// mostReduced bounds the services that are reduced to the necessary ones.
	mostReduced = 16
)

// together finds services shadowed by several earlier ones together. It runs after the
// comparison of pairs and has its own steps.
func (l *look) together(f *farm.Farm, list []route, shadowed map[int]bool, begin int) {
	l.compare.left, l.togetherLeft = l.togetherLeft, l.compare.left
	defer func() { l.compare.left, l.togetherLeft = l.togetherLeft, l.compare.left }()
	for j := range list {
		r := &list[j]
		if shadowed[j] {
			continue
		}
		var before []*route
		for i := range list[:j] {
			if b := &list[i]; !shadowed[i] && !b.never(r) && (b.run == 0 || b.run != r.run) && l.mayShare(b, r) {
				before = append(before, b)
			}
		}
		if len(before) < 2 || !l.covered(r, before) {
			continue
		}
		shadowed[j] = true
		l.out = slices.Concat(l.out[:begin:begin], slices.DeleteFunc(slices.Clone(l.out[begin:]), func(known Finding) bool {
			return known.Code == ServiceOverlap && known.Service == r.Name
		}))
		l.shadowOfSeveral(f, l.needed(r, before), r)
	}
}

// mayShare reports whether two services may have requests in common.
func (l *look) mayShare(a, b *route) bool {
	hosts, _ := l.compare.common(a.host, b.host)
	if hosts == language.No {
		return false
	}
	paths, _ := l.compare.common(a.path, b.path)
	return paths != language.No
}

// needed removes services as long as the others still match everything.
func (l *look) needed(r *route, before []*route) []*route {
	for i := 0; len(before) <= mostReduced && i < len(before); {
		if without := slices.Delete(slices.Clone(before), i, i+1); l.covered(r, without) {
			before = without
		} else {
			i++
		}
	}
	return before
}

// covered reports whether every request that r matches also matches one of the services.
func (l *look) covered(r *route, before []*route) bool {
	s := search{look: l, r: r}
	var branching []*route
	for _, b := range before {
		hosts := l.compare.inside(r.host, b.host) != language.Yes
		paths := l.compare.inside(r.path, b.path) != language.Yes
		switch conditions := len(b.HeadRequire)+len(b.HeadDeny) > 0; {
		case hosts && !paths && !conditions:
			s.hosts = append(s.hosts, b.host)
		case paths && !hosts && !conditions:
			s.paths = append(s.paths, b.path)
		case !hosts && !paths && !conditions:
			return true
		default:
			branching = append(branching, b)
		}
	}
	return s.empty(r.host, s.hosts) || s.empty(r.path, s.paths) || !s.escapes(branching[:min(len(branching), mostBranching)])
}

// search looks for a request that r matches and no other service does. It avoids each of
// them by its host, its path, or a header line.
type search struct {
	*look
	r            *route
	hosts, paths []expression // that it must not match
	has, lacks   []string     // expressions of header lines
}

// escapes reports whether such a request may exist.
func (s search) escapes(from []*route) bool {
	if len(from) == 0 {
		return true
	}
	b, rest := from[0], from[1:]
	if next := s; b.host.text != "" {
		next.hosts = append(slices.Clone(s.hosts), b.host)
		if !s.empty(s.r.host, next.hosts) && next.escapes(rest) {
			return true
		}
	}
	if next := s; b.path.text != "" {
		next.paths = append(slices.Clone(s.paths), b.path)
		if !s.empty(s.r.path, next.paths) && next.escapes(rest) {
			return true
		}
	}
	for _, wanted := range b.HeadRequire {
		next := s
		next.lacks = append(slices.Clone(s.lacks), wanted)
		if next.possible() && next.escapes(rest) {
			return true
		}
	}
	for _, denied := range b.HeadDeny {
		next := s
		next.has = append(slices.Clone(s.has), denied)
		if next.possible() && next.escapes(rest) {
			return true
		}
	}
	return false
}

// empty reports whether the others together match everything that one expression matches.
func (s search) empty(of expression, others []expression) bool {
	return len(others) > 0 && s.compare.inside(of, union(of.kind, others)) == language.Yes
}

// possible reports whether a request may have some header lines and lack others.
func (s search) possible() bool {
	for _, has := range slices.Concat(s.r.HeadRequire, s.has) {
		for _, lacks := range slices.Concat(s.r.HeadDeny, s.lacks) {
			if s.compare.inside(expression{line, has}, expression{line, lacks}) == language.Yes {
				return false
			}
		}
	}
	return true
}

// union returns an expression that matches whatever one of several matches.
func union(of kind, all []expression) expression {
	if len(all) == 1 {
		return all[0]
	}
	var parts []string
	for _, e := range all {
		if e.text == "" {
			return e
		}
		text, flags := e.text, syntax.Perl
		if e.kind == host {
			text = farm.HostPattern(text)
		}
		if e.kind == pathAnyCase {
			flags |= syntax.FoldCase
		}
		tree, err := syntax.Parse(text, flags)
		if err != nil {
			continue // it matches less, which cannot cause wrong findings
		}
		parts = append(parts, "(?:"+tree.String()+")")
	}
	if of == pathAnyCase {
		of = path // the parts have their own flags
	}
	return expression{of, strings.Join(parts, "|")}
}

func (l *look) shadowOfSeveral(f *farm.Farm, before []*route, r *route) {
	var names, all []string
	for _, b := range before {
		names, all = append(names, b.Name), append(all, routeText(b))
	}
	first := slices.IndexFunc(f.Services(), func(s farm.Service) bool { return s.Name == names[0] })
	out := Finding{Code: ServiceShadowed, Severity: Warning, Farm: f.Name, Service: r.Name, By: strings.Join(names, ", "),
		Message:  fmt.Sprintf("service %s gets no request: services %s are before it and together take all it would take", r.Name, strings.Join(names, ", ")),
		Evidence: strings.Join(append(all, routeText(r)), "; "),
		Advice:   fmt.Sprintf("move it before them (sluice service move %s %s %d), narrow one of them, or delete it", f.Name, r.Name, first)}
	if example, known := l.request(r, before[0]); known {
		out.Example = example
		out.Advice += "; see: " + explain(f, example)
	}
	l.add(out)
}
