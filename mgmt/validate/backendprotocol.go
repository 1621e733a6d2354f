package validate

import (
	"cmp"
	"fmt"

	"github.com/sluicelb/sluice/core/farm"
)

// backendProtocolFields say what a service speaks to its backends.
var backendProtocolFields = []field[farm.Service]{{
	rule: rule{name: "backendprotocol", hints: basic(atBackends, "Backend protocol").costs(CostConnections), kind: kindText, values: texts(farm.BackendProtocols()), null: true, unset: textValue(string(farm.BackendHTTP1)),
		about: "What backends speak: HTTP/1.1, or HTTP/2 as gRPC servers do (with httpsb agreed on by ALPN, without it by prior knowledge)."},
	get: func(s *farm.Service) Value {
		return textValue(string(cmp.Or(s.BackendProtocol, farm.BackendHTTP1)))
	},
	set: func(s *farm.Service, v Value) {
		s.BackendProtocol = orZero(farm.BackendProtocol(v.text), farm.BackendHTTP1)
	},
}}

// checkBackendProtocol holds the rules between the protocol and what makes
// sense only with connections that are not shared.
func checkBackendProtocol(path string, s *farm.Service) *Error {
	if s.Multiplexed() && s.Pinned {
		return &Error{path, "pinnedconnection", fmt.Sprintf("pinnedconnection must be 0 with backendprotocol %s: exchanges of all clients share connections; set pinnedconnection 0, or backendprotocol %s", farm.BackendHTTP2, farm.BackendHTTP1)}
	}
	if s.Multiplexed() && cmp.Or(s.ProxyOut, farm.ProxyOutOff) != farm.ProxyOutOff {
		return &Error{path, "proxyprotocol_out", fmt.Sprintf("proxyprotocol_out must be off with backendprotocol %s: exchanges of all clients share connections; set proxyprotocol_out off, or backendprotocol %s", farm.BackendHTTP2, farm.BackendHTTP1)}
	}
	return nil
}
