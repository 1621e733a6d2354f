package validate

import (
	"cmp"

	"github.com/sluicelb/sluice/core/farm"
)

// farmProxyIn comes after trusted, which it needs.
var farmProxyIn = under(byTrusted(),
	choice("proxyprotocol_in", advanced(atProxy, "Header from clients").costs(CostConnections),
		"Whether clients of trusted addresses begin with a header of the PROXY protocol, version 1 or 2: off (it is no header), optional, or required, which closes all others.",
		farm.ProxyIns(), farm.ProxyInOff, nil, func(h *farm.HTTP) *farm.ProxyIn { return &h.ProxyIn }))

// byTrusted is the condition of trusted headers. The trusted addresses cannot be removed
// along with it, because that would change who is admitted.
func byTrusted() *only {
	return (&only{fields: []string{"trusted"}, why: ", the addresses such headers are believed from"}).as(held).resting()
}

// proxyOutFields are the fields of the PROXY protocol towards backends.
var proxyOutFields = []field[farm.Service]{{
	rule: rule{name: "proxyprotocol_out", hints: advanced(atProxy, "Header to backends").costs(CostConnections), kind: kindText, values: texts(farm.ProxyOuts()), null: true, unset: textValue(string(farm.ProxyOutOff)),
		about: "Header of the PROXY protocol that connections to backends begin with: off, v1, or v2, which tells of TLS with the client, too. A client keeps its connection to a backend, as with pinnedconnection."},
	get: func(s *farm.Service) Value { return textValue(string(cmp.Or(s.ProxyOut, farm.ProxyOutOff))) },
	set: func(s *farm.Service, v Value) { s.ProxyOut = orZero(farm.ProxyOut(v.text), farm.ProxyOutOff) },
}}
