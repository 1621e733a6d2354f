package farm

import (
	"encoding/json"
	"fmt"
	"iter"
)

// TLS holds the TLS settings of a listener.
type TLS struct {
	// Certificates lists names in Config.Certificates, at least one. The first one that
	// matches the client's server name is used, or the first of all.
	Certificates []string     `json:"certificates,omitempty"`
	Ciphers      CipherPreset `json:"ciphers,omitempty"`
	// CustomCiphers is an OpenSSL cipher string; set with CiphersCustom.
	CustomCiphers string `json:"cipherc,omitempty"`
	// Disabled versions. SSL 2 and 3 are never offered.
	DisableTLS10 bool `json:"disable_tlsv1,omitempty"`
	DisableTLS11 bool `json:"disable_tlsv1_1,omitempty"`
	DisableTLS12 bool `json:"disable_tlsv1_2,omitempty"`
	DisableTLS13 bool `json:"disable_tlsv1_3,omitempty"`
	// Curves lists key exchange groups in OpenSSL syntax, separated by colons; empty chooses
	// automatically, including hybrid post-quantum ones.
	Curves string `json:"ecdhcurve,omitempty"`
	// DisableHTTP2 does not offer h2 to clients.
	DisableHTTP2 bool `json:"disable_http2,omitempty"`
	// StrictHost responds 421 to a request whose Host belongs to another certificate than
	// the connection's server name.
	StrictHost bool       `json:"strict_host,omitempty"`
	Clients    ClientAuth `json:"client_auth,omitempty"`
	// ClientCA names the entry of Config.Authorities that signs client certificates; set
	// unless Clients is ClientAuthOff.
	ClientCA string `json:"client_ca,omitempty"`
	// ClientHeaders sends the client's certificate to backends, in X-SSL-Subject and similar
	// headers. Valid unless Clients is ClientAuthOff.
	ClientHeaders bool `json:"clientcert_headers,omitempty"`
	// NoSSLRedirect responds to plain HTTP with a redirect to this URL. It has priority over
	// ErrorNoSSL, the body of a 400 response. NoSSLCode is 301, 302 or 307; 0 means 302.
	NoSSLRedirect string `json:"nosslredirect,omitempty"`
	NoSSLCode     int    `json:"nosslredirect_code,omitempty"`
	ErrorNoSSL    string `json:"errornossl,omitempty"`
}

// ApplianceCertificate is the name of the management API's certificate, which farms may use
// too.
const ApplianceCertificate = "api.pem"

// CertificateNames yields the names of certificates the farm uses: on its listener, and
// towards backends.
func (f *Farm) CertificateNames() iter.Seq[string] {
	return func(yield func(string) bool) {
		if t := f.ListenerTLS(); t != nil {
			for _, name := range t.Certificates {
				if !yield(name) {
					return
				}
			}
		}
		services := f.Services()
		for i := range services {
			if t := services[i].TLS; t != nil && t.Certificate != "" && !yield(t.Certificate) {
				return
			}
		}
	}
}

// HasCertificate reports whether the farm uses a certificate.
func (f *Farm) HasCertificate(name string) bool {
	for has := range f.CertificateNames() {
		if has == name {
			return true
		}
	}
	return false
}

// DefaultTLS returns the settings of a new https listener: the appliance's certificate, as
// in Zevenet, and only TLS 1.2 and 1.3, because RFC 8996 deprecates older versions.
func DefaultTLS() *TLS {
	return &TLS{Certificates: []string{ApplianceCertificate}, DisableTLS10: true, DisableTLS11: true}
}

// BackendTLS holds the TLS settings of a service towards its backends.
type BackendTLS struct {
	Verify Verify `json:"verify,omitempty"`
	// CA names the entry of Config.Authorities to trust; set with VerifyCA.
	CA string `json:"ca,omitempty"`
	// Name is the server name to send and, unless Verify is VerifyNone, to verify. Empty
	// means the Host of each request without its port, or the backend's own host name.
	Name string `json:"name,omitempty"`
	// Certificate names the client certificate in Config.Certificates for backends that
	// request one; empty sends none.
	Certificate string `json:"certificate,omitempty"`
}

// Certificate is a chain with its private key. Only snapshots contain it, for certificates
// in use; documents, revisions and API responses never do.
type Certificate struct {
	Name   string   `json:"name"`
	Chain  [][]byte `json:"chain"` // DER, leaf first
	Key    []byte   `json:"key"`   // PKCS #8 DER
	Staple []byte   `json:"staple,omitempty"`
}

// Authority is a list of certification authorities with their CRLs.
type Authority struct {
	Name         string   `json:"name"`
	Certificates [][]byte `json:"certificates"`      // DER
	Revoked      [][]byte `json:"revoked,omitempty"` // CRLs, DER
}

// CipherPreset names a set of TLS 1.0 to 1.2 cipher suites. The suites of TLS 1.3 are
// fixed.
type CipherPreset string

// The presets; the zero value acts as CiphersAll.
const (
	CiphersAll     CipherPreset = "all"            // also those of old clients: CBC, RSA key exchange
	CiphersHigh    CipherPreset = "highsecurity"   // forward secrecy and AEAD only
	CiphersCustom  CipherPreset = "customsecurity" // TLS.CustomCiphers
	CiphersOffload CipherPreset = "ssloffloading"  // AES, with hardware support
)

// CipherPresets lists the presets.
func CipherPresets() []CipherPreset {
	return []CipherPreset{CiphersAll, CiphersHigh, CiphersCustom, CiphersOffload}
}

// ClientAuth decides whether clients need a certificate.
type ClientAuth string

// The requirements.
const (
	ClientAuthOff      ClientAuth = ""
	ClientAuthOptional ClientAuth = "optional" // if sent, it must be valid
	ClientAuthRequired ClientAuth = "required"
)

// ClientAuths lists the requirements.
func ClientAuths() []ClientAuth {
	return []ClientAuth{ClientAuthOff, ClientAuthOptional, ClientAuthRequired}
}

// Verify is how a backend's certificate is verified.
type Verify string

// The methods; the zero value is VerifyNone.
const (
	VerifyNone   Verify = "none"   // any certificate, also a self-signed one
	VerifySystem Verify = "system" // the system's roots
	VerifyCA     Verify = "ca"     // BackendTLS.CA
)

// Verifies lists the methods.
func Verifies() []Verify { return []Verify{VerifyNone, VerifySystem, VerifyCA} }

// Format ignores the verb and writes only the name, so that a configuration in a message
// or log line does not reveal private keys.
func (c Certificate) Format(f fmt.State, _ rune) { fmt.Fprintf(f, "certificate %q", c.Name) }

// MarshalJSON omits the private key for the same reason. Snapshots do not use JSON.
func (c Certificate) MarshalJSON() ([]byte, error) {
	return json.Marshal(struct {
		Name string `json:"name"`
	}{c.Name})
}
