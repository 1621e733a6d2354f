package httpfarm

import (
	"fmt"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/mgmt/validate/field"
)

// AddBackend reports whether a backend may be added to s. A service with a redirect or a
// DNS farm uses no backends. path is that of s.
func AddBackend(path string, s *farm.Service) error {
	if s.DNSFarm != "" {
		return &field.Error{Path: path, Field: "dns_farm", Message: "dns_farm must be empty before a backend can be added: a gslb farm answers for the service"}
	}
	if s.Redirect == "" {
		return nil
	}
	return &field.Error{Path: path, Field: "redirect", Message: "redirect must be empty before a backend can be added: a service that redirects uses no backends"}
}

// PriorityWarning returns a text if the backend at position i of s can never be used, i.e.
// if its level is not reached even when all backends of lower levels are unusable.
func PriorityWarning(s *farm.Service, i int) string {
	own := s.Backends[i].EffectivePriority()
	var unusable farm.Unusable
	lower := 0
	for j := range s.Backends {
		if p := s.Backends[j].EffectivePriority(); p < own {
			unusable[p]++
			lower++
		}
	}
	most := unusable.Level()
	if own <= most {
		return ""
	}
	return fmt.Sprintf("priority %d will never be used: backends with a lower value: %d, so at most %d is reached", own, lower, most)
}
