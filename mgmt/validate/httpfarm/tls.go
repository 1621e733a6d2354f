package httpfarm

import (
	"cmp"
	"strings"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/core/tlsconf"
	"github.com/sluicelb/sluice/mgmt/validate/field"
	"github.com/sluicelb/sluice/mgmt/validate/format"
	"github.com/sluicelb/sluice/mgmt/validate/profile"
)

// overTLS is the condition of fields of an https listener.
var overTLS = field.WithValue("listener", "https")

// tlsFields are the listener and the fields of an https listener.
var tlsFields = []field.Field[farm.Farm]{
	{
		Rule: field.Rule{Name: "listener", Hints: field.Basic(field.AtTLS, "Listener").Costs(field.CostRestart), Kind: field.Text, Values: []string{"http", "https"}, Unset: field.TextValue("http"),
			About: "Protocol of the listener. https starts with the appliance's certificate and TLS 1.2 and 1.3; http discards all TLS settings."},
		Get: func(f *farm.Farm) field.Value { return field.TextValue(listenerOf(f)) },
		Set: setListener,
	},
	profile.CertificatesRule(overTLS),
	{
		Rule: field.Rule{Name: "ciphers", Hints: field.Basic(field.AtTLS, "Ciphers").Costs(field.CostConnections), Kind: field.Text, Values: field.Texts(farm.CipherPresets()), Null: true, Unset: field.TextValue(string(farm.CiphersAll)),
			Only: overTLS, About: "Cipher suites for TLS 1.2 and older. all includes CBC and RSA key exchange for old clients. These lack forward secrecy or have known attacks; highsecurity excludes them. customsecurity uses cipherc."},
		Get: func(f *farm.Farm) field.Value {
			return field.TextValue(string(cmp.Or(profile.ReadTLS(f).Ciphers, farm.CiphersAll)))
		},
		Set: profile.OnTLS(func(t *farm.TLS, v field.Value) {
			t.Ciphers = field.OrZero(farm.CipherPreset(v.Text()), farm.CiphersAll)
		}),
	},
	{
		Rule: field.Rule{Name: "cipherc", Hints: field.Advanced(field.AtTLS, "Cipher string").Costs(field.CostConnections), Kind: field.Text, Blank: true, Format: "OpenSSL cipher string", MaxLen: tlsconf.MaxCipherString, Check: problemOf(tlsconf.CheckCiphers),
			Must: "an OpenSSL cipher string", Only: field.WithValue("ciphers", farm.CiphersCustom).AlwaysShown(), About: "Cipher suites for TLS 1.2 and older, as an OpenSSL cipher string."},
		Get: func(f *farm.Farm) field.Value { return field.TextValue(profile.ReadTLS(f).CustomCiphers) },
		Set: profile.OnTLS(func(t *farm.TLS, v field.Value) { t.CustomCiphers = v.Text() }),
	},
	version("disable_tlsv1", field.Basic(field.AtTLS, "Disable TLS 1.0").Costs(field.CostConnections), "TLS 1.0", func(t *farm.TLS) *bool { return &t.DisableTLS10 }),
	version("disable_tlsv1_1", field.Basic(field.AtTLS, "Disable TLS 1.1").Costs(field.CostConnections), "TLS 1.1", func(t *farm.TLS) *bool { return &t.DisableTLS11 }),
	version("disable_tlsv1_2", field.Basic(field.AtTLS, "Disable TLS 1.2").Costs(field.CostConnections), "TLS 1.2", func(t *farm.TLS) *bool { return &t.DisableTLS12 }),
	version("disable_tlsv1_3", field.Basic(field.AtTLS, "Disable TLS 1.3").Costs(field.CostConnections), "TLS 1.3", func(t *farm.TLS) *bool { return &t.DisableTLS13 }),
	{
		Rule: field.Rule{Name: "ecdhcurve", Hints: field.Advanced(field.AtTLS, "Key exchange groups").Costs(field.CostConnections), Kind: field.Text, Blank: true, Format: "X25519:P-256:…", MaxLen: tlsconf.MaxCurves, Check: problemOf(tlsconf.CheckCurves),
			Normalize: map[string]string{"auto": ""}, Must: "a list of key exchange groups", Only: overTLS, About: "Key exchange groups; empty selects them automatically, including post-quantum groups."},
		Get: func(f *farm.Farm) field.Value { return field.TextValue(profile.ReadTLS(f).Curves) },
		Set: profile.OnTLS(func(t *farm.TLS, v field.Value) { t.Curves = v.Text() }),
	},
	{
		Rule: field.Rule{Name: "disable_http2", Hints: field.Advanced(field.AtTLS, "Disable HTTP/2").Costs(field.CostConnections), Kind: field.Bool, Only: overTLS, About: "Offer only HTTP/1.1 to clients."},
		Get:  func(f *farm.Farm) field.Value { return field.BoolValue(profile.ReadTLS(f).DisableHTTP2) },
		Set:  profile.OnTLS(func(t *farm.TLS, v field.Value) { t.DisableHTTP2 = v.Bool() }),
	},
	{
		Rule: field.Rule{Name: "strict_host", Hints: field.Advanced(field.AtTLS, "Strict Host"), Kind: field.Bool,
			Only: overTLS, About: "Return 421 if the certificate for the Host header differs from the one for the connection's SNI name."},
		Get: func(f *farm.Farm) field.Value { return field.BoolValue(profile.ReadTLS(f).StrictHost) },
		Set: profile.OnTLS(func(t *farm.TLS, v field.Value) { t.StrictHost = v.Bool() }),
	},
	{
		Rule: field.Rule{Name: "client_auth", Hints: field.Basic(field.AtTLS, "Client certificates").Costs(field.CostConnections), Kind: field.Text, Values: field.Texts(farm.ClientAuths()), Null: true, Normalize: map[string]string{"off": "", "none": ""},
			Only: overTLS, About: "Request a client certificate issued by client_ca: optional or required; empty requests none."},
		Get: func(f *farm.Farm) field.Value { return field.TextValue(string(profile.ReadTLS(f).Clients)) },
		Set: profile.OnTLS(func(t *farm.TLS, v field.Value) { t.Clients = farm.ClientAuth(v.Text()) }),
	},
	{
		Rule: field.Rule{Name: "client_ca", Hints: field.Basic(field.AtTLS, "Client authorities").Costs(field.CostConnections), Kind: field.Text, Blank: true, Format: "name of a list of authorities", MaxLen: format.MaxCertificate, Check: format.Authority, Canon: format.CanonAuthority,
			Must: "the name of a list of authorities", Only: field.With("client_auth").AlwaysShown(), About: "Certificate authorities that issue client certificates."},
		Get: func(f *farm.Farm) field.Value { return field.TextValue(profile.ReadTLS(f).ClientCA) },
		Set: profile.OnTLS(func(t *farm.TLS, v field.Value) { t.ClientCA = v.Text() }),
	},
	{
		Rule: field.Rule{Name: "clientcert_headers", Hints: field.Advanced(field.AtTLS, "Certificate headers"), Kind: field.Bool,
			Only: field.With("client_auth").AllowDefault().AlwaysShown(), About: "Send the client certificate to backends in X-SSL-Subject, -Issuer, -notBefore, -notAfter, -serial, -cipher and -certificate. With client_auth, such headers from clients are always removed."},
		Get: func(f *farm.Farm) field.Value { return field.BoolValue(profile.ReadTLS(f).ClientHeaders) },
		Set: profile.OnTLS(func(t *farm.TLS, v field.Value) { t.ClientHeaders = v.Bool() }),
	},
	{
		Rule: field.Rule{Name: "nosslredirect", Hints: field.Basic(field.AtTLS, "Redirect plain HTTP to").Costs(field.CostConnections), Kind: field.Text, Format: "http(s)://…", Blank: true, MaxLen: format.MaxURL, Check: checkPlainRedirect,
			Must: "an absolute http or https URL", Only: overTLS, About: "Redirect URL for plain HTTP on this port, used unchanged; if empty, errornossl is sent instead."},
		Get: func(f *farm.Farm) field.Value { return field.TextValue(profile.ReadTLS(f).NoSSLRedirect) },
		Set: profile.OnTLS(func(t *farm.TLS, v field.Value) { t.NoSSLRedirect = v.Text() }),
	},
	{
		Rule: field.Rule{Name: "nosslredirect_code", Hints: field.Advanced(field.AtTLS, "Redirect status").Costs(field.CostConnections), Kind: field.Number, Values: codes(farm.RedirectCodes()), Null: true, Only: field.With("nosslredirect"), Default: field.NumberValue(farm.DefaultRedirectCode), About: "Status code of the nosslredirect redirect."},
		Get:  func(f *farm.Farm) field.Value { return field.NumberValue(int64(profile.ReadTLS(f).NoSSLCode)) },
		Set:  profile.OnTLS(func(t *farm.TLS, v field.Value) { t.NoSSLCode = int(v.Number()) }),
	},
	{
		Rule: field.Rule{Name: "errornossl", Hints: field.Advanced(field.AtTLS, "Response to plain HTTP").Costs(field.CostConnections), Kind: field.Text, Blank: true, MaxLen: format.MaxErrorText, Check: checkErrorText, Only: overTLS, About: "Body of the 400 response to plain HTTP on this port."},
		Get:  func(f *farm.Farm) field.Value { return field.TextValue(profile.ReadTLS(f).ErrorNoSSL) },
		Set:  profile.OnTLS(func(t *farm.TLS, v field.Value) { t.ErrorNoSSL = v.Text() }),
	},
}

// tlsLegacy are alternative names of the family, which documents do not have.
var tlsLegacy = []field.Field[farm.Farm]{
	{
		Rule: field.Rule{Name: "certname", Hints: field.Advanced(field.AtTLS, "Certificate").Costs(field.CostConnections), Kind: field.Text, Format: "X.pem", MaxLen: format.MaxCertificate, Check: format.Certificate, Canon: format.CanonCertificate,
			Must: "the name of a certificate", Only: overTLS, About: "Single certificate; older form of certificates."},
		Set: profile.OnTLS(func(t *farm.TLS, v field.Value) { t.Certificates = []string{v.Text()} }),
		Needs: func(sent field.Values[farm.Farm], _ *farm.Farm) string {
			if sent.Has("certificates") {
				return "is the older name of certificates with a single one; send one of both"
			}
			return ""
		},
	},
	neverOffered("disable_sslv2", field.Advanced(field.AtTLS, "Disable SSL 2").Costs(field.CostConnections), "SSL 2"),
	neverOffered("disable_sslv3", field.Advanced(field.AtTLS, "Disable SSL 3").Costs(field.CostConnections), "SSL 3"),
}

func version(name string, h field.Hints, what string, at func(*farm.TLS) *bool) field.Field[farm.Farm] {
	return field.Field[farm.Farm]{
		Rule: field.Rule{Name: name, Hints: h, Kind: field.Bool, Unset: field.BoolValue(*at(farm.DefaultTLS())),
			Only:  overTLS,
			About: "Disable " + what + ". The enabled TLS versions must be contiguous."},
		Get: func(f *farm.Farm) field.Value { return field.BoolValue(*at(profile.ReadTLS(f))) },
		Set: profile.OnTLS(func(t *farm.TLS, v field.Value) { *at(t) = v.Bool() }),
	}
}

// neverOffered returns the field of a TLS version that is never offered. It is always
// disabled; false is accepted because clients send whole objects back.
func neverOffered(name string, h field.Hints, what string) field.Field[farm.Farm] {
	return field.Field[farm.Farm]{
		Rule: field.Rule{Name: name, Hints: h, Kind: field.Bool, Unset: field.BoolValue(true), Only: overTLS, About: what + " is not supported, so this is always true."},
		Get:  func(*farm.Farm) field.Value { return field.BoolValue(true) },
		Set:  func(*farm.Farm, field.Value) {},
	}
}

func listenerOf(f *farm.Farm) string {
	if f.HTTPS() {
		return "https"
	}
	return "http"
}

func setListener(f *farm.Farm, v field.Value) {
	h := edit(f)
	switch {
	case v.Text() == "http":
		h.TLS = nil
	case h.TLS == nil:
		h.TLS = farm.DefaultTLS()
	}
}

// problemOf turns a check of the engine's compiler into a check of a text.
func problemOf[T any](check func(string) (T, error)) func(string) string {
	return func(s string) string {
		if _, err := check(s); err != nil {
			return err.Error()
		}
		return ""
	}
}

// checkTLS checks the rules between the settings of an https listener.
func checkTLS(path string, t *farm.TLS, yield func(field.Error) bool) bool {
	if err := tlsconf.CheckVersions(t); err != nil {
		fieldName, _, _ := strings.Cut(err.Error(), " ")
		if !yield(field.Error{Path: path, Field: fieldName, Message: err.Error()}) {
			return false
		}
	}
	switch {
	case len(t.Certificates) == 0:
		return yield(field.Error{Path: path, Field: "certificates", Message: "certificates must name at least one certificate with listener https"})
	case t.Ciphers == farm.CiphersCustom && t.CustomCiphers == "":
		return yield(field.Error{Path: path, Field: "cipherc", Message: "cipherc is required with ciphers customsecurity: it is the cipher string"})
	case t.Clients != farm.ClientAuthOff && t.ClientCA == "":
		return yield(field.Error{Path: path, Field: "client_ca", Message: "client_ca is required with client_auth " + string(t.Clients) + ": it names the authorities that sign clients"})
	}
	return true
}
