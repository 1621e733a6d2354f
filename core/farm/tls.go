package farm

import (
	"encoding/json"
	"fmt"
	"iter"
)

// TLS is what a listener needs to speak TLS.
type TLS struct {
	// Certificates are names of Config.Certificates in the order they are tried:
	// the first that matches the name a client asks for is used, the first of
	// all when none does. At least one.
	Certificates []string     `json:"certificates,omitempty"`
	Ciphers      CipherPreset `json:"ciphers,omitempty"`
	// CustomCiphers is an OpenSSL cipher string; set with CiphersCustom.
	CustomCiphers string `json:"cipherc,omitempty"`
	// Versions that are not offered. SSL 2 and 3 never are.
	DisableTLS10 bool `json:"disable_tlsv1,omitempty"`
	DisableTLS11 bool `json:"disable_tlsv1_1,omitempty"`
	DisableTLS12 bool `json:"disable_tlsv1_2,omitempty"`
	DisableTLS13 bool `json:"disable_tlsv1_3,omitempty"`
	// Curves are names of key exchange groups, separated by colons as OpenSSL
	// writes them; empty chooses automatically, hybrid post-quantum included.
	Curves string `json:"ecdhcurve,omitempty"`
	// DisableHTTP2 leaves h2 out of what is offered to clients.
	DisableHTTP2 bool `json:"disable_http2,omitempty"`
	// StrictHost answers 421 to a request whose Host another certificate is for
	// than the name the connection was made for.
	StrictHost bool       `json:"strict_host,omitempty"`
	Clients    ClientAuth `json:"client_auth,omitempty"`
	// ClientCA names the entry of Config.Authorities that signs clients; set
	// unless Clients is ClientAuthOff.
	ClientCA string `json:"client_ca,omitempty"`
	// ClientHeaders tells backends of the certificate a client showed, in
	// X-SSL-Subject and the like. Valid unless Clients is ClientAuthOff.
	ClientHeaders bool `json:"clientcert_headers,omitempty"`
	// NoSSLRedirect answers plain HTTP with a redirect to this URL, and wins
	// over ErrorNoSSL, the body of a 400; NoSSLCode is 301, 302 or 307, 0 means 302.
	NoSSLRedirect string `json:"nosslredirect,omitempty"`
	NoSSLCode     int    `json:"nosslredirect_code,omitempty"`
	ErrorNoSSL    string `json:"errornossl,omitempty"`
}

// ApplianceCertificate is the name of the certificate of the management API,
// which farms may use too.
const ApplianceCertificate = "api.pem"

// CertificateNames yields the certificates the farm names: those of its listener, and those
// its services show to backends.
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

// HasCertificate reports whether the farm names a certificate.
func (f *Farm) HasCertificate(name string) bool {
	for has := range f.CertificateNames() {
		if has == name {
			return true
		}
	}
	return false
}

// DefaultTLS returns what a listener starts with when it becomes an https one:
// the appliance's certificate, as in the family, and TLS 1.2 and 1.3 alone,
// because RFC 8996 retired what is older.
func DefaultTLS() *TLS {
	return &TLS{Certificates: []string{ApplianceCertificate}, DisableTLS10: true, DisableTLS11: true}
}

// BackendTLS is how a service speaks TLS to its backends.
type BackendTLS struct {
	Verify Verify `json:"verify,omitempty"`
	// CA names the entry of Config.Authorities to trust; set with VerifyCA.
	CA string `json:"ca,omitempty"`
	// Name is the server name that is sent and, unless Verify is VerifyNone,
	// must be in the certificate; empty means the Host of each request without
	// its port, or the backend's own host name.
	Name string `json:"name,omitempty"`
	// Certificate names the entry of Config.Certificates that is shown to
	// backends that ask for one; empty shows none.
	Certificate string `json:"certificate,omitempty"`
}

// Certificate is a chain with its private key. Snapshots hold those that are
// in use; documents, revisions and answers never do.
type Certificate struct {
	Name   string   `json:"name"`
	Chain  [][]byte `json:"chain"` // DER, leaf first
	Key    []byte   `json:"key"`   // PKCS #8 DER
	Staple []byte   `json:"staple,omitempty"`
}

// Authority is a list of certification authorities and of what they revoked.
type Authority struct {
	Name         string   `json:"name"`
	Certificates [][]byte `json:"certificates"`      // DER
	Revoked      [][]byte `json:"revoked,omitempty"` // CRLs, DER
}

// CipherPreset names a set of TLS 1.0 to 1.2 cipher suites; those of TLS 1.3
// cannot be chosen.
type CipherPreset string

// The presets; the zero value acts as CiphersAll.
const (
	CiphersAll     CipherPreset = "all"            // what old clients need too: CBC, the RSA key exchange
	CiphersHigh    CipherPreset = "highsecurity"   // forward secrecy and AEAD only
	CiphersCustom  CipherPreset = "customsecurity" // TLS.CustomCiphers
	CiphersOffload CipherPreset = "ssloffloading"  // AES, which processors help with
)

// CipherPresets lists the presets.
func CipherPresets() []CipherPreset {
	return []CipherPreset{CiphersAll, CiphersHigh, CiphersCustom, CiphersOffload}
}

// ClientAuth says whether clients show a certificate.
type ClientAuth string

// What is asked of clients.
const (
	ClientAuthOff      ClientAuth = ""
	ClientAuthOptional ClientAuth = "optional" // one that is shown must be valid
	ClientAuthRequired ClientAuth = "required"
)

// ClientAuths lists what may be asked of clients.
func ClientAuths() []ClientAuth {
	return []ClientAuth{ClientAuthOff, ClientAuthOptional, ClientAuthRequired}
}

// Verify says how a backend's certificate is verified.
type Verify string

// The ways of verifying; the zero value is VerifyNone.
const (
	VerifyNone   Verify = "none"   // any certificate, also a self-signed one
	VerifySystem Verify = "system" // the system's roots
	VerifyCA     Verify = "ca"     // BackendTLS.CA
)

// Verifies lists the ways of verifying.
func Verifies() []Verify { return []Verify{VerifyNone, VerifySystem, VerifyCA} }

// Format writes the name alone, whatever the verb: a configuration that ends up
// in a message or a log line by mistake does not take private keys there.
func (c Certificate) Format(f fmt.State, _ rune) { fmt.Fprintf(f, "certificate %q", c.Name) }

// MarshalJSON leaves out the private key, for the same reason. Snapshots are
// no JSON.
func (c Certificate) MarshalJSON() ([]byte, error) {
	return json.Marshal(struct {
		Name string `json:"name"`
	}{c.Name})
}
