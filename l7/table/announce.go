package table

import (
	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/core/proxyproto"
)

func announcing(s *farm.Service) proxyproto.Version {
	if s.Multiplexed() { // exchanges of all clients share connections
		return 0
	}
	return proxyproto.VersionOf(s.ProxyOut)
}
