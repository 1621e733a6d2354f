package proxy

import (
	"errors"
	"log/slog"
	"unsafe"

	"github.com/sluicelb/sluice/core/loop"
	"github.com/sluicelb/sluice/core/tlsconf"
	"github.com/sluicelb/sluice/l7/dial"
	"github.com/sluicelb/sluice/l7/refused"
	"github.com/sluicelb/sluice/l7/table"
)

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
	if f == nil || f.TLS == nil {
		cl.close()
		return
	}
	s := cl.stats()
	s.BadRequests++
	cl.note(refused.BadRequest, 0, "plain HTTP on a port with TLS")
	cl.w.recordOwn(cl, f, nil, false, f.TLS.PlainStatus, len(f.TLS.Plain))
	if cl.conn.Write(f.TLS.Plain) != nil {
		cl.close()
		return
	}
	cl.linger()
}

// proto is how the client speaks to us.
func (cl *client) proto() []byte {
	if cl.conn.Secured() {
		return table.ProtoHTTPS
	}
	return table.ProtoHTTP
}

// destination is where and how to connect for the exchange. With TLS the name
// that is asked for is the request's, unless the service has one of its own;
// the result is good until the next call on the loop.
func (ex *exchange) destination() *dial.Target {
	if ex.service.TLS == nil && ex.attempt == nil {
		return &ex.backend.Target
	}
	t := &ex.w.target
	*t = ex.backend.Target
	if ex.service.TLS != nil {
		t.Options.Security.Config = ex.service.TLS.Config(ex.backend.ID, ex.nameAsked())
	}
	if ex.attempt != nil {
		t.Timeout = min(t.Timeout, attemptTime)
	}
	return t
}

// nameAsked is the name of the request, which backends are asked for unless the
// service has one. It is a view: the configurations copy the names they keep.
func (ex *exchange) nameAsked() string {
	name := table.WithoutPort(ex.host)
	return unsafe.String(unsafe.SliceData(name), len(name))
}
