package proxy

import (
	"unsafe"

	"github.com/sluicelb/sluice/l7/backend"
	"github.com/sluicelb/sluice/l7/table"
)

// BackendConnected implements backend.Owner.
func (ex *exchange) BackendConnected(began int64, own bool, err error) {
	defer ex.peer.Conn.Contain()
	if err != nil {
		ex.up = nil // its opener has taken it back
	}
	ex.connecting(-1)
	if why := backend.ErrorOf(err); why != nil {
		ex.badResponse(why.Reason)
		return
	}
	if err != nil {
		if status := ex.unreachable(ex.service.Position(ex.backend), err); status != 0 {
			ex.failed(status)
			return
		}
		ex.forwardTo()
		if ex.queue.place == nil && ex.up != nil {
			ex.ClientReadable() // the body may have arrived meanwhile
		}
		return
	}
	s := ex.backendStats()
	if own {
		s.Connects++
		s.ConnectNanos += uint64(ex.w.loop.Now() - began)
	} else {
		s.Reuses++
	}
	ex.record.connected(ex.w.loop.Now() - began)
	ex.w.engine.Prober.Reached(ex.backend.ID)
	ex.revival.succeed(ex)
	if ex.service.TLS != nil {
		ex.service.TLS.Worked(ex.backend.ID, ex.nameAsked())
	}
	up := ex.up
	ex.send()
	if ex.up == up {
		ex.ClientReadable()
	}
}

// nameAsked returns the host of the request, which is the TLS server name unless the service
// has one. It is a view; the configurations copy the names they keep.
func (ex *exchange) nameAsked() string {
	name := table.WithoutPort(ex.host)
	return unsafe.String(unsafe.SliceData(name), len(name))
}
