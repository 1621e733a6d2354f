package forward

import (
	"net/netip"

	"github.com/sluicelb/sluice/core/refusal"
)

// The classes of what is refused: what a client did or failed to do, then what
// this machine could not.
const (
	tooManyClients refusal.Class = iota
	noBackend
	timeout
	badProxyHeader
	badHello
	noMarked
)

// classNames are what the log and the metrics call them; those l7/proxy has too
// are the same.
var classNames = [...]string{
	tooManyClients: "too-many-clients",
	noBackend:      "no-backend",
	timeout:        "timeout",
	badProxyHeader: "bad-proxy-header",
	badHello:       "bad-client-hello",
	noMarked:       "no-marked-socket",
}

// note counts a refusal and leaves a line of it. reason is a text of ours.
func (w *worker) note(f *farmTable, class refusal.Class, reason string, client, backend netip.AddrPort) {
	w.shard.Refusals(f.id)[w.engine.classes[class]]++
	w.refusals.Add(w.loop.Now(), refusal.Event{Class: class, Farm: f.name, Reason: reason, Client: client, Backend: backend})
}
