package table

import (
	"github.com/sluicelb/sluice/core/farm"
)

// protocols are those the backends of a service are offered with TLS.
func protocols(s *farm.Service) []string {
	if s.Multiplexed() {
		return []string{"h2"}
	}
	return nil
}
