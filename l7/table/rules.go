package table

import (
	"fmt"
	"slices"
	"strings"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/l7/http1"
	"github.com/sluicelb/sluice/l7/rewrite"
)

// Rules are the header rules of a service and its farm for one direction. Both lists apply,
// the service's first. A header that the service adds is not added by the farm.
type Rules struct {
	remove  *rewrite.Remover
	replace *rewrite.Replacer
	ownCuts int            // the first ownCuts rules of remove are the service's
	own     int            // the first own rules of replace are the service's
	Add     []byte         // field lines
	adds    []origin       // owner of each line in Add
	set     [][]byte       // request fields that replace the client's
	given   http1.Identity // identity fields in Add
	sts     bool           // the service sets Strict-Transport-Security
}

// origin identifies the rule of a line.
type origin struct {
	owner string
	rule  int
}

// requestRules compiles the rules that apply after the service is selected, or returns nil.
// The farm's removals have been applied by then.
func requestRules(f, s *farm.HeaderRules) (r *Rules, err error) {
	r = &Rules{own: len(s.ReplaceRequest), ownCuts: len(s.RemoveRequest)}
	if r.remove, err = rewrite.NewRemover(s.RemoveRequest); err != nil {
		return nil, err
	}
	if r.replace, err = rewrite.NewReplacer(s.ReplaceRequest, f.ReplaceRequest); err != nil {
		return nil, err
	}
	if err := r.addLines(s.AddRequest, f.AddRequest); err != nil {
		return nil, err
	}
	for _, line := range fieldLines(r.Add) {
		name, _, _ := strings.Cut(line, ":")
		r.given |= http1.IdentityOf([]byte(name))
		if !strings.EqualFold(name, "cookie") { // added to the client's own cookies
			r.set = append(r.set, []byte(name))
		}
	}
	return r.orNil(), nil
}

// responseRules compiles the rules for responses. With TLS, a service may set
// Strict-Transport-Security (RFC 6797).
func responseRules(f *farm.Farm, s *farm.Service) (r *Rules, err error) {
	h := f.HTTP
	r = &Rules{sts: f.HTTPS() && s.STS > 0, own: len(s.ReplaceResponse), ownCuts: len(s.RemoveResponse)}
	if r.remove, err = rewrite.NewRemover(slices.Concat(s.RemoveResponse, h.RemoveResponse)); err != nil {
		return nil, err
	}
	if r.replace, err = rewrite.NewReplacer(s.ReplaceResponse, h.ReplaceResponse); err != nil {
		return nil, err
	}
	if err := r.addLines(s.AddResponse, h.AddResponse); err != nil {
		return nil, err
	}
	if r.sts {
		r.Add = append(r.Add, stsLine(s)...)
	}
	return r.orNil(), nil
}

// addLines compiles the lines added by a service and its farm. The service takes precedence
// for the same header; cookies are independent.
func (r *Rules) addLines(service, farm []farm.HeaderAdd) (err error) {
	lines := slices.Clone(service)
	for i := range service {
		r.adds = append(r.adds, origin{ownerService, i})
	}
	for i, line := range farm {
		name, _, _ := strings.Cut(line.Header, ":")
		if !strings.EqualFold(name, "set-cookie") && namesHeader(service, name) {
			continue
		}
		lines, r.adds = append(lines, line), append(r.adds, origin{ownerFarm, i})
	}
	r.Add, err = rewrite.Lines(lines)
	return err
}

// namesHeader reports whether a rule adds a header of that name.
func namesHeader(rules []farm.HeaderAdd, name string) bool {
	return slices.ContainsFunc(rules, func(h farm.HeaderAdd) bool {
		other, _, _ := strings.Cut(h.Header, ":")
		return http1.SameName([]byte(other), []byte(name))
	})
}

// stsLine returns the Strict-Transport-Security line.
func stsLine(s *farm.Service) []byte {
	return fmt.Appendf(nil, "Strict-Transport-Security: max-age=%d\r\n", s.STS)
}

func (r *Rules) orNil() *Rules {
	if r.remove == nil && r.replace == nil && len(r.Add) == 0 {
		return nil
	}
	return r
}

// strip removes fields from a head.
func (r *Rules) strip(h *http1.Head, s *rewrite.Scratch) {
	if r.remove != nil {
		r.remove.Remove(h, s)
	}
	if r.sts { // it must occur only once
		for i := h.Find(http1.KnownSTS); i >= 0; i = h.Find(http1.KnownSTS) {
			h.Remove(i)
		}
	}
}

// Apply removes fields from a head, then changes values. A nil Rules does nothing. Its
// *http1.Error describes an invalid result.
func (r *Rules) Apply(h *http1.Head, s *rewrite.Scratch) error {
	if r == nil {
		return nil
	}
	r.strip(h, s)
	return r.edit(h, s)
}

// edit removes the fields that rules set, and changes values.
func (r *Rules) edit(h *http1.Head, s *rewrite.Scratch) error {
	for _, name := range r.set {
		h.RemoveNamed(name)
	}
	if r.replace == nil {
		return nil
	}
	return r.replace.Replace(h, s)
}
