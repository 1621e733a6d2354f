// Package tlsconf turns what a farm says about TLS into what crypto/tls needs,
// and is where mgmt asks whether it can: versions, OpenSSL cipher strings and
// OpenSSL group names.
package tlsconf
