package table

import (
	"bytes"
	"cmp"
	"errors"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/core/loop"
	"github.com/sluicelb/sluice/core/tlsconf"
	"github.com/sluicelb/sluice/l7/http1"
)

// Secured holds the TLS settings of a farm.
type Secured struct {
	Security loop.Security // of client connections
	// Plain is the complete response to plain HTTP, PlainStatus its status, and
	// PlainLocation its redirect location, if any.
	Plain         []byte
	PlainStatus   int
	PlainLocation string
	// asksClients requests client certificates; TellsClients forwards them to backends.
	asksClients, TellsClients bool
	// names maps server names to certificates; nil unless the farm is strict.
	names *tlsconf.Names
}

// compileTLS compiles a farm's TLS settings, or returns nil for a plain farm.
func compileTLS(build *tlsconf.Build, f *farm.Farm) (*Secured, error) {
	t := f.HTTP.TLS
	if t == nil {
		return nil, nil
	}
	config, err := build.Listener(f.ID, t)
	if err != nil {
		return nil, err
	}
	plain, err := plainAnswer(t)
	if err != nil {
		return nil, err
	}
	status := 400
	if t.NoSSLRedirect != "" {
		status = cmp.Or(t.NoSSLCode, farm.DefaultRedirectCode)
	}
	asks := t.Clients != farm.ClientAuthOff
	out := &Secured{Security: loop.Security{Config: config}, Plain: plain, PlainStatus: status, PlainLocation: t.NoSSLRedirect, asksClients: asks, TellsClients: asks && t.ClientHeaders}
	if t.StrictHost {
		out.names = build.Names(config)
	}
	return out, nil
}

// plainAnswer returns the response to plain HTTP: the redirect or the text.
func plainAnswer(t *farm.TLS) ([]byte, error) {
	if t.NoSSLRedirect == "" {
		a := Answers{texts: map[int]string{400: cmp.Or(t.ErrorNoSSL, "This address is served by HTTPS only.\n")}}
		return a.Append(nil, 400, false, true), nil
	}
	location, ok := http1.CheckValue([]byte(t.NoSSLRedirect))
	if !ok {
		return nil, errors.New("nosslredirect is no value of a header field")
	}
	return AppendRedirect(nil, cmp.Or(t.NoSSLCode, farm.DefaultRedirectCode), location, nil, true), nil
}

// SameHost reports whether two authorities have the same host. It ignores ports and a
// trailing dot.
func SameHost(a, b []byte) bool {
	return bytes.EqualFold(bytes.TrimSuffix(WithoutPort(a), dot), bytes.TrimSuffix(WithoutPort(b), dot))
}

var dot = []byte{'.'}

// WithoutPort returns the host of an authority.
func WithoutPort(authority []byte) []byte {
	if i := bytes.LastIndexByte(authority, ':'); i >= 0 && bytes.IndexByte(authority[i:], ']') < 0 {
		return authority[:i]
	}
	return authority
}
