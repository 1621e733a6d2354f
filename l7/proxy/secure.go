package proxy

import (
	"log/slog"
	"unsafe"

	"github.com/sluicelb/sluice/core/tlsconf"
	"github.com/sluicelb/sluice/l7/dial"
	"github.com/sluicelb/sluice/l7/table"
)

// warn says what of the certificates clients may refuse.
func warn(log *slog.Logger, build *tlsconf.Build) {
	for _, w := range build.Warnings() {
		log.Warn("certificate", "problem", w)
	}
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
