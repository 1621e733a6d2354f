package validate

import (
	"cmp"
	"fmt"

	"github.com/sluicelb/sluice/core/farm"
)

// backendProtocolFields select the protocol towards backends.
var backendProtocolFields = []field[farm.Service]{{
	rule: rule{name: "backendprotocol", hints: basic(atBackends, "Backend protocol").costs(CostConnections), kind: kindText, values: texts(farm.BackendProtocols()), null: true, unset: textValue(string(farm.BackendHTTP1)),
		about: "Protocol of backends: HTTP/1.1, or HTTP/2, e.g. for gRPC (negotiated by ALPN with httpsb, otherwise prior knowledge)."},
	get: func(s *farm.Service) Value {
		return textValue(string(cmp.Or(s.BackendProtocol, farm.BackendHTTP1)))
	},
	set: func(s *farm.Service, v Value) {
		s.BackendProtocol = orZero(farm.BackendProtocol(v.text), farm.BackendHTTP1)
	},
}}

// checkBackendProtocol rejects options that need dedicated connections if the protocol
// shares them.
func checkBackendProtocol(path string, s *farm.Service) *Error {
	if s.Multiplexed() && s.Pinned {
		return &Error{path, "pinnedconnection", fmt.Sprintf("pinnedconnection must be 0 with backendprotocol %s: exchanges of all clients share connections; set pinnedconnection 0, or backendprotocol %s", farm.BackendHTTP2, farm.BackendHTTP1)}
	}
	if s.Multiplexed() && cmp.Or(s.ProxyOut, farm.ProxyOutOff) != farm.ProxyOutOff {
		return &Error{path, "proxyprotocol_out", fmt.Sprintf("proxyprotocol_out must be off with backendprotocol %s: exchanges of all clients share connections; set proxyprotocol_out off, or backendprotocol %s", farm.BackendHTTP2, farm.BackendHTTP1)}
	}
	return nil
}

// backendTLSFields define TLS towards backends.
var backendTLSFields = []field[farm.Service]{
	{
		rule: rule{name: "httpsb", hints: basic(atBackendTLS, "TLS to backends").costs(CostConnections), kind: kindBool, about: "Use TLS to backends; their certificates are verified only if httpsb_verify is set."},
		get:  func(s *farm.Service) Value { return boolValue(s.TLS != nil) },
		set: func(s *farm.Service, v Value) {
			switch {
			case !v.truth:
				s.TLS = nil
			case s.TLS == nil:
				s.TLS = &farm.BackendTLS{}
			}
		},
	},
	{
		rule: rule{name: "httpsb_verify", hints: basic(atBackendTLS, "Verification").costs(CostConnections), kind: kindText, values: texts(farm.Verifies()), null: true, unset: textValue(string(farm.VerifyNone)),
			only: with("httpsb"), about: "Verification of backend certificates: none, with the system's authorities, or with httpsb_ca."},
		get: func(s *farm.Service) Value { return textValue(string(cmp.Or(backendTLS(s).Verify, farm.VerifyNone))) },
		set: func(s *farm.Service, v Value) { s.TLS.Verify = orZero(farm.Verify(v.text), farm.VerifyNone) },
	},
	{
		rule: rule{name: "httpsb_ca", hints: basic(atBackendTLS, "Authorities").costs(CostConnections), kind: kindText, blank: true, format: "name of a list of authorities", maxLen: maxCertificate, check: checkAuthority, canon: canonAuthority,
			must: "the name of a list of authorities", only: being("httpsb_verify", farm.VerifyCA).shown(), about: "Certificate authorities that issue backend certificates."},
		get: func(s *farm.Service) Value { return textValue(backendTLS(s).CA) },
		set: func(s *farm.Service, v Value) { s.TLS.CA = v.text },
	},
	{
		rule: rule{name: "httpsb_name", hints: advanced(atBackendTLS, "Server name").costs(CostConnections), kind: kindText, blank: true, format: "host name", maxLen: 255, check: checkHost,
			must: "a host name or an address", only: with("httpsb"), about: "SNI name sent to backends and required in their certificate; empty uses the Host of each request."},
		get: func(s *farm.Service) Value { return textValue(backendTLS(s).Name) },
		set: func(s *farm.Service, v Value) { s.TLS.Name = v.text },
	},
	{
		rule: rule{name: "httpsb_certificate", hints: advanced(atBackendTLS, "Client certificate").costs(CostConnections), kind: kindText, blank: true, format: "X.pem", maxLen: maxCertificate, check: checkCertificate, canon: canonCertificate,
			must: "the name of a certificate", only: with("httpsb"), about: "Client certificate presented to backends that request one."},
		get: func(s *farm.Service) Value { return textValue(backendTLS(s).Certificate) },
		set: func(s *farm.Service, v Value) { s.TLS.Certificate = v.text },
	},
}

// backendTLS returns the settings to read; without TLS, the defaults.
func backendTLS(s *farm.Service) *farm.BackendTLS { return cmp.Or(s.TLS, &farm.BackendTLS{}) }

// checkBackendTLS checks the rules between TLS settings for backends.
func checkBackendTLS(path string, t *farm.BackendTLS) *Error {
	if t.Verify == farm.VerifyCA && t.CA == "" {
		return &Error{path, "httpsb_ca", "httpsb_ca is required with httpsb_verify ca: it names the authorities that sign backends"}
	}
	return nil
}
