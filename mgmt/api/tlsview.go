package api

import (
	"cmp"

	"github.com/sluicelb/sluice/core/farm"
)

// TLSView is what an https listener has beside an http one; all of it is left
// out for http.
type TLSView struct {
	Names        []string          `json:"certificates,omitempty" doc:"The certificates in their order, by name"`
	Ciphers      farm.CipherPreset `json:"ciphers,omitempty"`
	CustomCipher *string           `json:"cipherc,omitempty"`
	NoSSLv2      string            `json:"disable_sslv2,omitempty" enum:"true"`
	NoSSLv3      string            `json:"disable_sslv3,omitempty" enum:"true"`
	NoTLS10      string            `json:"disable_tlsv1,omitempty" enum:"true,false"`
	NoTLS11      string            `json:"disable_tlsv1_1,omitempty" enum:"true,false"`
	NoTLS12      string            `json:"disable_tlsv1_2,omitempty" enum:"true,false"`
	NoTLS13      string            `json:"disable_tlsv1_3,omitempty" enum:"true,false"`
	Curves       *string           `json:"ecdhcurve,omitempty" doc:"Empty: chosen automatically"`
	NoHTTP2      string            `json:"disable_http2,omitempty" enum:"true,false"`
	StrictHost   string            `json:"strict_host,omitempty" enum:"true,false"`
	ClientAuth   *farm.ClientAuth  `json:"client_auth,omitempty" doc:"Empty: no certificates are asked for"`
	ClientCA     *string           `json:"client_ca,omitempty"`
	ClientHeads  string            `json:"clientcert_headers,omitempty" enum:"true,false"`
	NoSSL        *string           `json:"nosslredirect,omitempty"`
	NoSSLCode    int               `json:"nosslredirect_code,omitempty" doc:"Only with nosslredirect"`
	ErrorNoSSL   *string           `json:"errornossl,omitempty"`
}

// ListedCertificate is one certificate of a farm with its position.
type ListedCertificate struct {
	File string `json:"file"`
	ID   int    `json:"id"`
}

func tlsView(t *farm.TLS) TLSView {
	out := TLSView{
		Names: t.Certificates, Ciphers: cmp.Or(t.Ciphers, farm.CiphersAll), CustomCipher: &t.CustomCiphers,
		NoSSLv2: truth(true), NoSSLv3: truth(true), NoTLS10: truth(t.DisableTLS10), NoTLS11: truth(t.DisableTLS11),
		NoTLS12: truth(t.DisableTLS12), NoTLS13: truth(t.DisableTLS13), Curves: &t.Curves, NoHTTP2: truth(t.DisableHTTP2), StrictHost: truth(t.StrictHost),
		ClientAuth: &t.Clients, ClientCA: &t.ClientCA, ClientHeads: truth(t.ClientHeaders), NoSSL: &t.NoSSLRedirect, ErrorNoSSL: &t.ErrorNoSSL,
	}
	if t.NoSSLRedirect != "" {
		out.NoSSLCode = cmp.Or(t.NoSSLCode, 302)
	}
	return out
}
