package proxy

import "github.com/sluicelb/sluice/l7/table"

// A farm whose clients show certificates may tell backends about them, by the
// fields of the product family. Where it asks for certificates, nobody else
// tells: what a client calls X-SSL-… goes no further, trusted or not.

// certificate is the field lines about the certificate of the client's
// connection, made once for it; empty without one.
func (cl *client) certificate() []byte {
	lines := &cl.shown
	if cl.stream != nil {
		lines = &cl.stream.mux.shown
	}
	if *lines == nil {
		*lines = table.CertificateLines(cl.conn.TLS())
	}
	return *lines
}
