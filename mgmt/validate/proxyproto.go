package validate

import (
	"cmp"

	"github.com/sluicelb/sluice/core/farm"
)

// farmProxyIn comes after trusted, which it needs.
var farmProxyIn = under(byTrusted(),
	choice("proxyprotocol_in", advanced(atProxy, "PROXY header from clients").costs(CostConnections),
		"PROXY protocol header (version 1 or 2) from clients in trusted: off (not recognized), optional, or required (other connections are closed).",
		farm.ProxyIns(), farm.ProxyInOff, nil, func(h *farm.HTTP) *farm.ProxyIn { return &h.ProxyIn }))

// byTrusted is the condition of trusted headers. The trusted addresses cannot be removed
// along with it, because that would change who is admitted.
func byTrusted() *only {
	return (&only{fields: []string{"trusted"}, why: ", the addresses that may send such headers"}).as(held).resting()
}

// proxyOutFields are the fields of the PROXY protocol towards backends.
var proxyOutFields = []field[farm.Service]{{
	rule: rule{name: "proxyprotocol_out", hints: advanced(atProxy, "PROXY header to backends").costs(CostConnections), kind: kindText, values: texts(farm.ProxyOuts()), null: true, unset: textValue(string(farm.ProxyOutOff)),
		about: "PROXY protocol header sent at the start of backend connections: off, v1, or v2, which also includes the client's TLS details. A client keeps its connection to a backend, as with pinnedconnection."},
	get: func(s *farm.Service) Value { return textValue(string(cmp.Or(s.ProxyOut, farm.ProxyOutOff))) },
	set: func(s *farm.Service, v Value) { s.ProxyOut = orZero(farm.ProxyOut(v.text), farm.ProxyOutOff) },
}}
