package proxy

import (
	"bytes"
	"cmp"
	"errors"
	"log/slog"
	"unsafe"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/core/loop"
	"github.com/sluicelb/sluice/core/tlsconf"
	"github.com/sluicelb/sluice/l7/dial"
	"github.com/sluicelb/sluice/l7/http1"
	"github.com/sluicelb/sluice/l7/refused"
)

// secured is what a farm with TLS has beside others.
type secured struct {
	security loop.Security
	// plain is the whole answer to a client that speaks plain HTTP.
	plain       []byte
	plainStatus int
	// asksClients says that clients are asked for certificates, tellsClients
	// that backends are told of them.
	asksClients, tellsClients bool
	// names say which Hosts go with a connection; nil unless the farm is strict.
	names *tlsconf.Names
}

var protoHTTP, protoHTTPS = []byte("http"), []byte("https")

// compileTLS compiles what a farm says about TLS; nil for a plain farm.
func compileTLS(build *tlsconf.Build, f *farm.Farm) (*secured, error) {
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
		status = cmp.Or(t.NoSSLCode, 302)
	}
	asks := t.Clients != farm.ClientAuthOff
	out := &secured{security: loop.Security{Config: config}, plain: plain, plainStatus: status, asksClients: asks, tellsClients: asks && t.ClientHeaders}
	if t.StrictHost {
		out.names = build.Names(config)
	}
	return out, nil
}

// plainAnswer makes the answer to plain HTTP: the redirect, or the text.
func plainAnswer(t *farm.TLS) ([]byte, error) {
	if t.NoSSLRedirect == "" {
		a := answers{texts: map[int]string{400: cmp.Or(t.ErrorNoSSL, "This address is served by HTTPS only.\n")}}
		return a.append(nil, 400, false, true), nil
	}
	location, ok := http1.CheckValue([]byte(t.NoSSLRedirect))
	if !ok {
		return nil, errors.New("nosslredirect is no value of a header field")
	}
	return appendRedirect(nil, cmp.Or(t.NoSSLCode, 302), location, nil, true), nil
}

// warn says what of the certificates clients may refuse.
func warn(log *slog.Logger, build *tlsconf.Build) {
	for _, w := range build.Warnings() {
		log.Warn("certificate", "problem", w)
	}
}

// Connected implements loop.Handler: the outcome of a handshake.
func (cl *client) Connected(c *loop.Conn, err error) {
	switch {
	case err == nil && c.TLS().Protocol == "h2":
		cl.multiplexed(nil)
	case err == nil:
		cl.conn.SetDeadline(cl.w.loop.Now() + cl.requestTimeout())
	case errors.Is(err, loop.ErrPlain):
		cl.notSecure()
	case c.Closed():
		cl.forget()
	default:
		cl.close()
	}
}

// notSecure answers a client that speaks plain HTTP to a farm with TLS.
func (cl *client) notSecure() {
	f := cl.w.engine.farm(cl.port)
	if f == nil || f.tls == nil {
		cl.close()
		return
	}
	s := cl.stats()
	s.BadRequests++
	cl.note(refused.BadRequest, 0, "plain HTTP on a port with TLS")
	cl.w.recordOwn(cl, f, nil, false, f.tls.plainStatus, len(f.tls.plain))
	if cl.conn.Write(f.tls.plain) != nil {
		cl.close()
		return
	}
	cl.linger()
}

// proto is how the client speaks to us.
func (cl *client) proto() []byte {
	if cl.conn.Secured() {
		return protoHTTPS
	}
	return protoHTTP
}

// destination is where and how to connect for the exchange. With TLS the name
// that is asked for is the request's, unless the service has one of its own;
// the result is good until the next call on the loop.
func (ex *exchange) destination() *dial.Target {
	if ex.service.tls == nil && ex.attempt == nil {
		return &ex.backend.target
	}
	t := &ex.w.target
	*t = ex.backend.target
	if ex.service.tls != nil {
		t.Options.Security.Config = ex.service.tls.Config(ex.backend.id, ex.nameAsked())
	}
	if ex.attempt != nil {
		t.Timeout = min(t.Timeout, attemptTime)
	}
	return t
}

// nameAsked is the name of the request, which backends are asked for unless the
// service has one. It is a view: the configurations copy the names they keep.
func (ex *exchange) nameAsked() string {
	name := withoutPort(ex.host)
	return unsafe.String(unsafe.SliceData(name), len(name))
}

// withoutPort is the host of an authority.
func withoutPort(authority []byte) []byte {
	if i := bytes.LastIndexByte(authority, ':'); i >= 0 && bytes.IndexByte(authority[i:], ']') < 0 {
		return authority[:i]
	}
	return authority
}
