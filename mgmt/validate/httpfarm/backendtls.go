package httpfarm

import (
	"cmp"
	"fmt"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/mgmt/validate/field"
	"github.com/sluicelb/sluice/mgmt/validate/format"
)

// backendProtocolFields select the protocol towards backends.
var backendProtocolFields = []field.Field[farm.Service]{{
	Rule: field.Rule{Name: "backendprotocol", Hints: field.Basic(field.AtBackends, "Backend protocol").Costs(field.CostConnections), Kind: field.Text, Values: field.Texts(farm.BackendProtocols()), Null: true, Unset: field.TextValue(string(farm.BackendHTTP1)),
		About: "Protocol of backends: HTTP/1.1, or HTTP/2, e.g. for gRPC (negotiated by ALPN with httpsb, otherwise prior knowledge)."},
	Get: func(s *farm.Service) field.Value {
		return field.TextValue(string(cmp.Or(s.BackendProtocol, farm.BackendHTTP1)))
	},
	Set: func(s *farm.Service, v field.Value) {
		s.BackendProtocol = field.OrZero(farm.BackendProtocol(v.Text()), farm.BackendHTTP1)
	},
}}

// checkBackendProtocol rejects options that need dedicated connections if the protocol
// shares them.
func checkBackendProtocol(path string, s *farm.Service) *field.Error {
	if s.Multiplexed() && s.Pinned {
		return &field.Error{Path: path, Field: "pinnedconnection", Message: fmt.Sprintf("pinnedconnection must be 0 with backendprotocol %s: exchanges of all clients share connections; set pinnedconnection 0, or backendprotocol %s", farm.BackendHTTP2, farm.BackendHTTP1)}
	}
	if s.Multiplexed() && cmp.Or(s.ProxyOut, farm.ProxyOutOff) != farm.ProxyOutOff {
		return &field.Error{Path: path, Field: "proxyprotocol_out", Message: fmt.Sprintf("proxyprotocol_out must be off with backendprotocol %s: exchanges of all clients share connections; set proxyprotocol_out off, or backendprotocol %s", farm.BackendHTTP2, farm.BackendHTTP1)}
	}
	return nil
}

// backendTLSFields define TLS towards backends.
var backendTLSFields = []field.Field[farm.Service]{
	{
		Rule: field.Rule{Name: "httpsb", Hints: field.Basic(field.AtBackendTLS, "TLS to backends").Costs(field.CostConnections), Kind: field.Bool, About: "Use TLS to backends; their certificates are verified only if httpsb_verify is set."},
		Get:  func(s *farm.Service) field.Value { return field.BoolValue(s.TLS != nil) },
		Set: func(s *farm.Service, v field.Value) {
			switch {
			case !v.Bool():
				s.TLS = nil
			case s.TLS == nil:
				s.TLS = &farm.BackendTLS{}
			}
		},
	},
	{
		Rule: field.Rule{Name: "httpsb_verify", Hints: field.Basic(field.AtBackendTLS, "Verification").Costs(field.CostConnections), Kind: field.Text, Values: field.Texts(farm.Verifies()), Null: true, Unset: field.TextValue(string(farm.VerifyNone)),
			Only: field.With("httpsb"), About: "Verification of backend certificates: none, with the system's authorities, or with httpsb_ca."},
		Get: func(s *farm.Service) field.Value {
			return field.TextValue(string(cmp.Or(backendTLS(s).Verify, farm.VerifyNone)))
		},
		Set: func(s *farm.Service, v field.Value) {
			s.TLS.Verify = field.OrZero(farm.Verify(v.Text()), farm.VerifyNone)
		},
	},
	{
		Rule: field.Rule{Name: "httpsb_ca", Hints: field.Basic(field.AtBackendTLS, "Authorities").Costs(field.CostConnections), Kind: field.Text, Blank: true, Format: "name of a list of authorities", MaxLen: format.MaxCertificate, Check: format.Authority, Canon: format.CanonAuthority,
			Must: "the name of a list of authorities", Only: field.WithValue("httpsb_verify", farm.VerifyCA).AlwaysShown(), About: "Certificate authorities that issue backend certificates."},
		Get: func(s *farm.Service) field.Value { return field.TextValue(backendTLS(s).CA) },
		Set: func(s *farm.Service, v field.Value) { s.TLS.CA = v.Text() },
	},
	{
		Rule: field.Rule{Name: "httpsb_name", Hints: field.Advanced(field.AtBackendTLS, "Server name").Costs(field.CostConnections), Kind: field.Text, Blank: true, Format: "host name", MaxLen: 255, Check: format.Host,
			Must: "a host name or an address", Only: field.With("httpsb"), About: "SNI name sent to backends and required in their certificate; empty uses the Host of each request."},
		Get: func(s *farm.Service) field.Value { return field.TextValue(backendTLS(s).Name) },
		Set: func(s *farm.Service, v field.Value) { s.TLS.Name = v.Text() },
	},
	{
		Rule: field.Rule{Name: "httpsb_certificate", Hints: field.Advanced(field.AtBackendTLS, "Client certificate").Costs(field.CostConnections), Kind: field.Text, Blank: true, Format: "X.pem", MaxLen: format.MaxCertificate, Check: format.Certificate, Canon: format.CanonCertificate,
			Must: "the name of a certificate", Only: field.With("httpsb"), About: "Client certificate presented to backends that request one."},
		Get: func(s *farm.Service) field.Value { return field.TextValue(backendTLS(s).Certificate) },
		Set: func(s *farm.Service, v field.Value) { s.TLS.Certificate = v.Text() },
	},
}

// backendTLS returns the settings to read; without TLS, the defaults.
func backendTLS(s *farm.Service) *farm.BackendTLS { return cmp.Or(s.TLS, &farm.BackendTLS{}) }

// checkBackendTLS checks the rules between TLS settings for backends.
func checkBackendTLS(path string, t *farm.BackendTLS) *field.Error {
	if t.Verify == farm.VerifyCA && t.CA == "" {
		return &field.Error{Path: path, Field: "httpsb_ca", Message: "httpsb_ca is required with httpsb_verify ca: it names the authorities that sign backends"}
	}
	return nil
}
