package validate

import (
	"cmp"
	"strings"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/core/tlsconf"
)

// MaxCertificates is the maximum number of certificates of a farm.
const MaxCertificates = 1000

// overTLS is the condition of fields of an https listener.
var overTLS = being("listener", "https")

// tlsFields are the listener and the fields of an https listener.
var tlsFields = []field[farm.Farm]{
	{
		rule: rule{name: "listener", hints: basic(atTLS, "Listener").costs(CostRestart), kind: kindText, values: []string{"http", "https"}, unset: textValue("http"),
			about: "Protocol of the listener. https starts with the appliance's certificate and TLS 1.2 and 1.3; http discards all TLS settings."},
		get: func(f *farm.Farm) Value { return textValue(listenerOf(f)) },
		set: setListener,
	},
	certificates(overTLS),
	{
		rule: rule{name: "ciphers", hints: basic(atTLS, "Ciphers").costs(CostConnections), kind: kindText, values: texts(farm.CipherPresets()), null: true, unset: textValue(string(farm.CiphersAll)),
			only: overTLS, about: "Cipher suites for TLS 1.2 and older. all includes CBC and RSA key exchange for old clients. These lack forward secrecy or have known attacks; highsecurity excludes them. customsecurity uses cipherc."},
		get: func(f *farm.Farm) Value { return textValue(string(cmp.Or(tlsSeen(f).Ciphers, farm.CiphersAll))) },
		set: onTLS(func(t *farm.TLS, v Value) { t.Ciphers = orZero(farm.CipherPreset(v.text), farm.CiphersAll) }),
	},
	{
		rule: rule{name: "cipherc", hints: advanced(atTLS, "Cipher string").costs(CostConnections), kind: kindText, blank: true, format: "OpenSSL cipher string", maxLen: tlsconf.MaxCipherString, check: problemOf(tlsconf.CheckCiphers),
			must: "an OpenSSL cipher string", only: being("ciphers", farm.CiphersCustom).shown(), about: "Cipher suites for TLS 1.2 and older, as an OpenSSL cipher string."},
		get: func(f *farm.Farm) Value { return textValue(tlsSeen(f).CustomCiphers) },
		set: onTLS(func(t *farm.TLS, v Value) { t.CustomCiphers = v.text }),
	},
	version("disable_tlsv1", basic(atTLS, "Disable TLS 1.0").costs(CostConnections), "TLS 1.0", func(t *farm.TLS) *bool { return &t.DisableTLS10 }),
	version("disable_tlsv1_1", basic(atTLS, "Disable TLS 1.1").costs(CostConnections), "TLS 1.1", func(t *farm.TLS) *bool { return &t.DisableTLS11 }),
	version("disable_tlsv1_2", basic(atTLS, "Disable TLS 1.2").costs(CostConnections), "TLS 1.2", func(t *farm.TLS) *bool { return &t.DisableTLS12 }),
	version("disable_tlsv1_3", basic(atTLS, "Disable TLS 1.3").costs(CostConnections), "TLS 1.3", func(t *farm.TLS) *bool { return &t.DisableTLS13 }),
	{
		rule: rule{name: "ecdhcurve", hints: advanced(atTLS, "Key exchange groups").costs(CostConnections), kind: kindText, blank: true, format: "X25519:P-256:…", maxLen: tlsconf.MaxCurves, check: problemOf(tlsconf.CheckCurves),
			normalize: map[string]string{"auto": ""}, must: "a list of key exchange groups", only: overTLS, about: "Key exchange groups; empty selects them automatically, including post-quantum groups."},
		get: func(f *farm.Farm) Value { return textValue(tlsSeen(f).Curves) },
		set: onTLS(func(t *farm.TLS, v Value) { t.Curves = v.text }),
	},
	{
		rule: rule{name: "disable_http2", hints: advanced(atTLS, "Disable HTTP/2").costs(CostConnections), kind: kindBool, only: overTLS, about: "Offer only HTTP/1.1 to clients."},
		get:  func(f *farm.Farm) Value { return boolValue(tlsSeen(f).DisableHTTP2) },
		set:  onTLS(func(t *farm.TLS, v Value) { t.DisableHTTP2 = v.truth }),
	},
	{
		rule: rule{name: "strict_host", hints: advanced(atTLS, "Strict Host"), kind: kindBool,
			only: overTLS, about: "Return 421 if the certificate for the Host header differs from the one for the connection's SNI name."},
		get: func(f *farm.Farm) Value { return boolValue(tlsSeen(f).StrictHost) },
		set: onTLS(func(t *farm.TLS, v Value) { t.StrictHost = v.truth }),
	},
	{
		rule: rule{name: "client_auth", hints: basic(atTLS, "Client certificates").costs(CostConnections), kind: kindText, values: texts(farm.ClientAuths()), null: true, normalize: map[string]string{"off": "", "none": ""},
			only: overTLS, about: "Request a client certificate issued by client_ca: optional or required; empty requests none."},
		get: func(f *farm.Farm) Value { return textValue(string(tlsSeen(f).Clients)) },
		set: onTLS(func(t *farm.TLS, v Value) { t.Clients = farm.ClientAuth(v.text) }),
	},
	{
		rule: rule{name: "client_ca", hints: basic(atTLS, "Client authorities").costs(CostConnections), kind: kindText, blank: true, format: "name of a list of authorities", maxLen: maxCertificate, check: checkAuthority, canon: canonAuthority,
			must: "the name of a list of authorities", only: with("client_auth").shown(), about: "Certificate authorities that issue client certificates."},
		get: func(f *farm.Farm) Value { return textValue(tlsSeen(f).ClientCA) },
		set: onTLS(func(t *farm.TLS, v Value) { t.ClientCA = v.text }),
	},
	{
		rule: rule{name: "clientcert_headers", hints: advanced(atTLS, "Certificate headers"), kind: kindBool,
			only: with("client_auth").resting().shown(), about: "Send the client certificate to backends in X-SSL-Subject, -Issuer, -notBefore, -notAfter, -serial, -cipher and -certificate. With client_auth, such headers from clients are always removed."},
		get: func(f *farm.Farm) Value { return boolValue(tlsSeen(f).ClientHeaders) },
		set: onTLS(func(t *farm.TLS, v Value) { t.ClientHeaders = v.truth }),
	},
	{
		rule: rule{name: "nosslredirect", hints: basic(atTLS, "Redirect plain HTTP to").costs(CostConnections), kind: kindText, format: "http(s)://…", blank: true, maxLen: MaxURL, check: checkPlainRedirect,
			must: "an absolute http or https URL", only: overTLS, about: "Redirect URL for plain HTTP on this port, used unchanged; if empty, errornossl is sent instead."},
		get: func(f *farm.Farm) Value { return textValue(tlsSeen(f).NoSSLRedirect) },
		set: onTLS(func(t *farm.TLS, v Value) { t.NoSSLRedirect = v.text }),
	},
	{
		rule: rule{name: "nosslredirect_code", hints: advanced(atTLS, "Redirect status").costs(CostConnections), kind: kindNumber, values: codes(farm.RedirectCodes()), null: true, only: with("nosslredirect"), acts: numberValue(farm.DefaultRedirectCode), about: "Status code of the nosslredirect redirect."},
		get:  func(f *farm.Farm) Value { return numberValue(int64(tlsSeen(f).NoSSLCode)) },
		set:  onTLS(func(t *farm.TLS, v Value) { t.NoSSLCode = int(v.number) }),
	},
	{
		rule: rule{name: "errornossl", hints: advanced(atTLS, "Response to plain HTTP").costs(CostConnections), kind: kindText, blank: true, maxLen: MaxErrorText, check: checkErrorText, only: overTLS, about: "Body of the 400 response to plain HTTP on this port."},
		get:  func(f *farm.Farm) Value { return textValue(tlsSeen(f).ErrorNoSSL) },
		set:  onTLS(func(t *farm.TLS, v Value) { t.ErrorNoSSL = v.text }),
	},
}

// tlsLegacy are alternative names of the family, which documents do not have.
var tlsLegacy = []field[farm.Farm]{
	{
		rule: rule{name: "certname", hints: advanced(atTLS, "Certificate").costs(CostConnections), kind: kindText, format: "X.pem", maxLen: maxCertificate, check: checkCertificate, canon: canonCertificate,
			must: "the name of a certificate", only: overTLS, about: "Single certificate; older form of certificates."},
		set: onTLS(func(t *farm.TLS, v Value) { t.Certificates = []string{v.text} }),
		needs: func(sent Values[farm.Farm], _ *farm.Farm) string {
			if sent.Has("certificates") {
				return "is the older name of certificates with a single one; send one of both"
			}
			return ""
		},
	},
	neverOffered("disable_sslv2", advanced(atTLS, "Disable SSL 2").costs(CostConnections), "SSL 2"),
	neverOffered("disable_sslv3", advanced(atTLS, "Disable SSL 3").costs(CostConnections), "SSL 3"),
}

func version(name string, h hints, what string, at func(*farm.TLS) *bool) field[farm.Farm] {
	return field[farm.Farm]{
		rule: rule{name: name, hints: h, kind: kindBool, unset: boolValue(*at(farm.DefaultTLS())), only: overTLS,
			about: "Disable " + what + ". The enabled TLS versions must be contiguous."},
		get: func(f *farm.Farm) Value { return boolValue(*at(tlsSeen(f))) },
		set: onTLS(func(t *farm.TLS, v Value) { *at(t) = v.truth }),
	}
}

// neverOffered returns the field of a TLS version that is never offered. It is always
// disabled; false is accepted because clients send whole objects back.
func neverOffered(name string, h hints, what string) field[farm.Farm] {
	return field[farm.Farm]{
		rule: rule{name: name, hints: h, kind: kindBool, unset: boolValue(true), only: overTLS, about: what + " is not supported, so this is always true."},
		get:  func(*farm.Farm) Value { return boolValue(true) },
		set:  func(*farm.Farm, Value) {},
	}
}

func listenerOf(f *farm.Farm) string {
	if f.HTTPS() {
		return "https"
	}
	return "http"
}

func setListener(f *farm.Farm, v Value) {
	h := httpOf(f)
	switch {
	case v.text == "http":
		h.TLS = nil
	case h.TLS == nil:
		h.TLS = farm.DefaultTLS()
	}
}

// certificates returns the field of the certificates of a TLS listener. It has a meaning under
// the condition.
func certificates(o *only) field[farm.Farm] {
	return field[farm.Farm]{
		rule: rule{name: "certificates", hints: basic(atTLS, "Certificates").costs(CostConnections), kind: kindList, words: true, format: "X.pem", null: true, max: MaxCertificates, maxLen: maxCertificate, check: checkCertificate, canon: canonCertificate,
			must: "the name of a certificate", musts: "a list of names of certificates", unset: listValue(farm.DefaultTLS().Certificates),
			only: o, about: "Certificates in order of preference: the first one matching the SNI name is used, otherwise the first of the list."},
		get: func(f *farm.Farm) Value { return listValue(tlsSeen(f).Certificates) },
		set: onTLS(setCertificates),
	}
}

func setCertificates(t *farm.TLS, v Value) {
	if t.Certificates = v.list; len(v.list) == 0 {
		t.Certificates = farm.DefaultTLS().Certificates
	}
}

// onTLS adapts a setter to https farms.
func onTLS(set func(*farm.TLS, Value)) func(*farm.Farm, Value) {
	return func(f *farm.Farm, v Value) { set(f.ListenerTLS(), v) }
}

// tlsSeen returns the settings to read; for an http farm, the defaults.
func tlsSeen(f *farm.Farm) *farm.TLS {
	return cmp.Or(f.ListenerTLS(), farm.DefaultTLS())
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
func checkTLS(path string, t *farm.TLS, yield func(Error) bool) bool {
	if err := tlsconf.CheckVersions(t); err != nil {
		field, _, _ := strings.Cut(err.Error(), " ")
		if !yield(Error{path, field, err.Error()}) {
			return false
		}
	}
	switch {
	case len(t.Certificates) == 0:
		return yield(Error{path, "certificates", "certificates must name at least one certificate with listener https"})
	case t.Ciphers == farm.CiphersCustom && t.CustomCiphers == "":
		return yield(Error{path, "cipherc", "cipherc is required with ciphers customsecurity: it is the cipher string"})
	case t.Clients != farm.ClientAuthOff && t.ClientCA == "":
		return yield(Error{path, "client_ca", "client_ca is required with client_auth " + string(t.Clients) + ": it names the authorities that sign clients"})
	}
	return true
}
