package httpfarm

import (
	"cmp"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/mgmt/validate/field"
	"github.com/sluicelb/sluice/mgmt/validate/profile"
)

// farmProxyIn comes after trusted, which it needs.
var farmProxyIn = field.OnlyIf(profile.ByTrusted(),
	choice("proxyprotocol_in", field.Advanced(field.AtProxy, "PROXY header from clients").Costs(field.CostConnections),
		"PROXY protocol header (version 1 or 2) from clients in trusted: off (not recognized), optional, or required (other connections are closed).",
		farm.ProxyIns(), farm.ProxyInOff, nil, func(h *farm.HTTP) *farm.ProxyIn { return &h.ProxyIn }))

// proxyOutFields are the fields of the PROXY protocol towards backends.
var proxyOutFields = []field.Field[farm.Service]{{
	Rule: field.Rule{Name: "proxyprotocol_out", Hints: field.Advanced(field.AtProxy, "PROXY header to backends").Costs(field.CostConnections), Kind: field.Text, Values: field.Texts(farm.ProxyOuts()), Null: true, Unset: field.TextValue(string(farm.ProxyOutOff)),
		About: "PROXY protocol header sent at the start of backend connections: off, v1, or v2, which also includes the client's TLS details. A client keeps its connection to a backend, as with pinnedconnection."},
	Get: func(s *farm.Service) field.Value {
		return field.TextValue(string(cmp.Or(s.ProxyOut, farm.ProxyOutOff)))
	},
	Set: func(s *farm.Service, v field.Value) {
		s.ProxyOut = field.OrZero(farm.ProxyOut(v.Text()), farm.ProxyOutOff)
	},
}}
