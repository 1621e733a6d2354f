package table

import (
	"fmt"
	"strings"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/l7/http1"
	"github.com/sluicelb/sluice/l7/rewrite"
)

// Rules are the header rules of a service for one direction, those of its farm
// included. A list of the service replaces the farm's of the same kind; only
// replace rules add up, the service's first.
type Rules struct {
	// restore brings back what the farm's rules took out before the service was
	// known: the service has a list of its own.
	restore bool
	remove  *rewrite.Remover
	replace *rewrite.Replacer
	own     int            // how many rules of replace are the service's, the first
	Add     []byte         // field lines
	addedBy string         // whose rules Add is of
	cutBy   string         // whose rules remove is of, for responses
	given   http1.Identity // what of identities is in Add
	sts     bool           // Strict-Transport-Security is ours
}

// requestRules compiles what is left to do once the service is known; nil when
// nothing is.
func requestRules(f, s *farm.HeaderRules) (r *Rules, err error) {
	r = &Rules{restore: len(s.RemoveRequest) > 0 && len(f.RemoveRequest) > 0, own: len(s.ReplaceRequest)}
	if r.remove, err = rewrite.NewRemover(s.RemoveRequest); err != nil {
		return nil, err
	}
	if r.replace, err = rewrite.NewReplacer(s.ReplaceRequest, f.ReplaceRequest); err != nil {
		return nil, err
	}
	lines := either(s.AddRequest, f.AddRequest)
	r.addedBy = ownerOf(s.AddRequest)
	if r.Add, err = rewrite.Lines(lines); err != nil {
		return nil, err
	}
	for _, l := range lines {
		name, _, _ := strings.Cut(l.Header, ":")
		r.given |= http1.IdentityOf([]byte(name))
	}
	return r.orNil(), nil
}

// responseRules is the same for responses. With TLS a service may make clients
// come back with TLS only (RFC 6797).
func responseRules(f *farm.Farm, s *farm.Service) (r *Rules, err error) {
	h := f.HTTP
	r = &Rules{sts: f.HTTPS() && s.STS > 0, own: len(s.ReplaceResponse), addedBy: ownerOf(s.AddResponse), cutBy: ownerOf(s.RemoveResponse)}
	if r.remove, err = rewrite.NewRemover(either(s.RemoveResponse, h.RemoveResponse)); err != nil {
		return nil, err
	}
	if r.replace, err = rewrite.NewReplacer(s.ReplaceResponse, h.ReplaceResponse); err != nil {
		return nil, err
	}
	if r.Add, err = rewrite.Lines(either(s.AddResponse, h.AddResponse)); err != nil {
		return nil, err
	}
	if r.sts {
		r.Add = append(r.Add, stsLine(s)...)
	}
	return r.orNil(), nil
}

// stsLine is the field line of Strict-Transport-Security.
func stsLine(s *farm.Service) []byte {
	return fmt.Appendf(nil, "Strict-Transport-Security: max-age=%d\r\n", s.STS)
}

// either is the service's list or, if that is empty, the farm's.
func either[T any](service, farm []T) []T {
	if len(service) > 0 {
		return service
	}
	return farm
}

// ownerOf says whose list either gives.
func ownerOf[T any](service []T) string {
	if len(service) > 0 {
		return ownerService
	}
	return ownerFarm
}

func (r *Rules) orNil() *Rules {
	if r.remove == nil && r.replace == nil && len(r.Add) == 0 {
		return nil
	}
	return r
}

// strip takes fields out of a head.
func (r *Rules) strip(h *http1.Head, s *rewrite.Scratch) {
	if r.restore {
		h.Restore()
	}
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

// edit changes the values of fields.
func (r *Rules) edit(h *http1.Head, s *rewrite.Scratch) error {
	if r.replace == nil {
		return nil
	}
	return r.replace.Replace(h, s)
}
