package forward

import (
	"net/netip"
	"time"

	"github.com/sluicelb/sluice/core/accesslog"
	"github.com/sluicelb/sluice/core/rejection"
)

// Record makes every loop put a record of each connection and flow that ended
// into its ring, by the writer of its position, which it shares with who else
// puts records on the loop: those of farms that log, and of farms that somebody
// watches. Call it before the first Publish.
func (e *Engine) Record(to *accesslog.Segment, writers []*accesslog.Writer) {
	for i, w := range e.Workers {
		w.recorder = accesslog.NewRecorder(to, writers[i], i)
	}
}

// story is what happened to a connection or flow, as far as it is not counted.
type story struct {
	began, connect int64  // on the loop's clock: when it came, how long connecting took
	in, out        uint64 // bytes from and to the client
	backend        uint32 // number of the last one that was chosen
	flags          accesslog.Flags
	rejection      uint8 // class plus one
	tries          uint8
	why            accesslog.Why
}

// refused notes the class of what ended it.
func (s *story) refused(class rejection.Class) { s.rejection = uint8(class) + 1 }

// chose notes a choice, and that one before it came to nothing.
func (w *worker) chose(s *story, c choice, b *backend) {
	if s.tries > 0 {
		w.shard.Backend(s.backend).Retries++
		s.flags |= accesslog.Retried
	}
	s.backend, s.why = b.id, accesslog.WhyAlgorithm
	s.tries++
	s.flags &^= accesslog.Session
	if c.known {
		s.why = accesslog.WhySession
		s.flags |= accesslog.Session
	}
}

// tell puts the record of what ended into the ring, if anybody wants it.
func (w *worker) tell(f *farmTable, proto accesslog.Proto, client netip.AddrPort, s *story) {
	r := &w.recorder
	to := r.Wants(f.id, f.logged, f.sample)
	if to == 0 {
		return
	}
	e, now := r.Entry, w.loop.Now()
	e.Begin()
	e.Exchange = accesslog.Exchange{
		Time: time.Now().UnixNano() - (now - s.began), Connect: s.connect, Total: now - s.began, BytesIn: s.in, BytesOut: s.out,
		Farm: f.id, Backend: s.backend, Flags: s.flags | to, Proto: proto, Tries: s.tries, Loop: r.Loop, Why: s.why,
	}
	if s.rejection > 0 {
		e.Rejection = uint8(w.engine.classes[s.rejection-1]) + 1
	}
	e.Client(client)
	r.Put(e)
}

// The classes of what is refused: what a client did or failed to do, then what
// this machine could not.
const (
	tooManyClients rejection.Class = iota
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

// note counts a rejection and leaves a line of it. reason is a text of ours.
func (w *worker) note(f *farmTable, class rejection.Class, reason string, client, backend netip.AddrPort) {
	w.shard.Rejections(f.id)[w.engine.classes[class]]++
	w.rejections.Add(w.loop.Now(), rejection.Event{Class: class, Farm: f.name, Reason: reason, Client: client, Backend: backend})
}
