package proxy

import (
	"errors"
	"net/netip"

	"github.com/sluicelb/sluice/core/refusal"
	"github.com/sluicelb/sluice/l7/backend"
	"github.com/sluicelb/sluice/l7/http1"
)

// answerReason says why a backend's answer is refused.
func answerReason(err error) string {
	if bad, ok := errors.AsType[*http1.Error](err); ok {
		return bad.Reason
	}
	if bad := backend.ErrorOf(err); bad != nil {
		return bad.Reason
	}
	return "malformed answer"
}

// note leaves a line of what the client is refused for, as Peer.Note does before there
// is an exchange.
func (ex *exchange) note(class refusal.Class, status int, reason string) {
	ex.recordRefusal(class)
	ex.w.note(class, status, ex.farm.Name, reason, ex.peer.Conn.Peer(), netip.AddrPort{})
}

// noteBackend leaves a line of what the backend did wrong.
func (ex *exchange) noteBackend(class refusal.Class, status int, reason string) {
	ex.recordRefusal(class)
	w := ex.w
	w.refusals.Add(w.loop.Now(), refusal.Event{
		Class: class, Status: uint16(status), Farm: ex.farm.Name, Reason: reason,
		Client: ex.peer.Conn.Peer(), Backend: ex.backend.Target.Addr, Alias: ex.backend.Alias,
	})
}

func (w *worker) note(class refusal.Class, status int, farm, reason string, client, backend netip.AddrPort) {
	w.refusals.Add(w.loop.Now(), refusal.Event{
		Class: class, Status: uint16(status), Farm: farm, Reason: reason, Client: client, Backend: backend,
	})
}
