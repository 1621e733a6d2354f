package table

import (
	"fmt"
	"slices"
	"strings"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/l7/http1"
	"github.com/sluicelb/sluice/l7/rewrite"
)

// Rules are the header rules of a service for one direction, those of its farm
// included: the lists of both apply, the service's first. A header that the service
// adds is not added by the farm.
type Rules struct {
	remove  *rewrite.Remover
	replace *rewrite.Replacer
	ownCuts int            // how many rules of remove are the service's, the first
	own     int            // how many rules of replace are the service's, the first
	Add     []byte         // field lines
	adds    []origin       // whose rules they are of, line by line
	set     [][]byte       // names of request fields that the client may not send besides
	given   http1.Identity // what of identities is in Add
	sts     bool           // Strict-Transport-Security is ours
}

// origin says which rule a line is of.
type origin struct {
	owner string
	rule  int
}

// requestRules compiles what is left to do once the service is known; nil when
// nothing is. The farm's rules that remove fields have been applied by then.
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
		if !strings.EqualFold(name, "cookie") { // clients have their own
			r.set = append(r.set, []byte(name))
		}
	}
	return r.orNil(), nil
}

// responseRules is the same for responses. With TLS a service may make clients
// come back with TLS only (RFC 6797).
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

// addLines compiles the lines that a service and its farm add. Where both set the
// same header the service's counts; cookies are separate ones.
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

// namesHeader reports whether one of the rules adds a header of that name.
func namesHeader(rules []farm.HeaderAdd, name string) bool {
	return slices.ContainsFunc(rules, func(h farm.HeaderAdd) bool {
		other, _, _ := strings.Cut(h.Header, ":")
		return http1.SameName([]byte(other), []byte(name))
	})
}

// stsLine is the field line of Strict-Transport-Security.
func stsLine(s *farm.Service) []byte {
	return fmt.Appendf(nil, "Strict-Transport-Security: max-age=%d\r\n", s.STS)
}

func (r *Rules) orNil() *Rules {
	if r.remove == nil && r.replace == nil && len(r.Add) == 0 {
		return nil
	}
	return r
}

// strip takes fields out of a head.
func (r *Rules) strip(h *http1.Head, s *rewrite.Scratch) {
	if r.remove != nil {
		r.remove.Remove(h, s)
	}
	if r.sts { // there must not be two
		for i := h.Find(http1.KnownSTS); i >= 0; i = h.Find(http1.KnownSTS) {
			h.Remove(i)
		}
	}
}

// Apply takes fields out of a head, then changes the values of others. nil does
// nothing. The error is an *http1.Error about what would come of it.
func (r *Rules) Apply(h *http1.Head, s *rewrite.Scratch) error {
	if r == nil {
		return nil
	}
	r.strip(h, s)
	return r.edit(h, s)
}

// edit takes out the fields that rules set, and changes the values of others.
func (r *Rules) edit(h *http1.Head, s *rewrite.Scratch) error {
	for _, name := range r.set {
		h.RemoveNamed(name)
	}
	if r.replace == nil {
		return nil
	}
	return r.replace.Replace(h, s)
}
