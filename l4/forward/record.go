package forward

import (
	"errors"
	"net/netip"

	"syscall"
	"time"

	"github.com/sluicelb/sluice/core/accesslog"
	"github.com/sluicelb/sluice/core/loop"
	"github.com/sluicelb/sluice/core/marks"
	"github.com/sluicelb/sluice/core/rejection"
)

// Record makes each loop write a record of each ended connection and flow to its ring,
// through the writer of its position, which engines share. Farms with logging and watched
// farms are recorded. It must be called before the first Publish.
func (e *Engine) Record(to *accesslog.Segment, writers []*accesslog.Writer) {
	for i, w := range e.Workers {
		w.recorder = accesslog.NewRecorder(to, writers[i], i)
	}
}

// story is the history of a connection or flow for its record.
type story struct {
	began, connect int64  // on the loop's clock: start, and duration of the connect
	in, out        uint64 // bytes from and to the client
	backend        uint32 // number of the last one selected
	flags          accesslog.Flags
	rejection      uint8  // class plus one
	reason         string // why it ended, unless both sides ended it; a fixed text
	tries          uint8
	why            accesslog.Why
}

// refused records the class and reason of a refusal.
func (s *story) refused(class rejection.Class, reason string) {
	s.rejection, s.reason = uint8(class)+1, reason
}

// Reasons for the end of connections and flows, in the access log and traces. They
// distinguish the same causes as HAProxy's termination states, which are given in the
// comments.
const (
	clientLeftEarly = "the client left before it said what it has to"                  // CR
	clientLeft      = "the client left before a backend was connected"                 // CC
	clientReset     = "the client reset the connection"                                // CD
	backendReset    = "the backend reset the connection"                               // SD
	backendRefuses  = "the backend refuses datagrams: its port is closed"              // SC
	backendDown     = "the backend went down"                                          // DD
	idleTooLong     = "neither side sent anything for the idle time of the farm"       // cD, sD
	lateFirstBytes  = "client did not say in time what it has to"                      // cR
	farmFull        = "as many connections as the farm may have"                       // PR
	noDescriptor    = "this machine is short of descriptors or memory"                 // RC
	evictedFlow     = "another client needed the room of the flow"                     // RD
	endedByOperator = "an operator ended it"                                           // KD
	backendTakenOut = "the backend was deleted, cut or changed"                        // KD
	portReassigned  = "another farm uses the port now"                                 // KD
	portClosed      = "the farm does not use the port any more, or this process stops" // KD
)

// unserved returns why no backend of a group could serve a client. last is the reason of the
// last failed connect, or "".
func (f *farmTable) unserved(g *group, last string) string {
	free, usable := g.picker.Room()
	switch {
	case last != "":
		return last // SC, sC
	case len(g.members) == 0:
		return "no backend can be used now: none is configured for the client"
	case usable && !free:
		return "no backend can be used now: all are at their max_conns" // SQ
	case !usable:
		return "no backend can be used now: none is up and out of maintenance"
	}
	return "no backend can be used now"
}

// connectFailure returns why a connect failed.
func connectFailure(err error) string {
	switch {
	case errors.Is(err, syscall.ECONNREFUSED):
		return "no backend can be used now: the last one tried refused the connection"
	case errors.Is(err, loop.ErrTimeout), errors.Is(err, syscall.ETIMEDOUT):
		return "no backend can be used now: the last one tried did not accept the connection in time"
	case errors.Is(err, syscall.EHOSTUNREACH), errors.Is(err, syscall.ENETUNREACH):
		return "no backend can be used now: no route to the last one tried"
	case errors.Is(err, marks.ErrNone):
		return "no backend can be used now: no socket with the backend's mark"
	case ours(err):
		return "no backend can be used now: " + noDescriptor
	}
	return "no backend can be used now: the connect to the last one tried failed"
}

// chose records a selection, and the failure of the previous one.
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

// tell writes the record of an ended connection or flow if the farm requires it.
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
	e.Reason(s.reason)
	r.Put(e)
}

// Classes of rejections: by client behaviour, then by limits of this machine.
const (
	tooManyClients rejection.Class = iota
	noBackend
	timeout
	badProxyHeader
	badHello
	noMarked
)

// classNames are the names in the log and metrics. Classes shared with l7/proxy have the
// same names.
var classNames = [...]string{
	tooManyClients: "too-many-clients",
	noBackend:      "no-backend",
	timeout:        "timeout",
	badProxyHeader: "bad-proxy-header",
	badHello:       "bad-client-hello",
	noMarked:       "no-marked-socket",
}

// note counts and logs a rejection. reason is a fixed text.
func (w *worker) note(f *farmTable, class rejection.Class, reason string, client, backend netip.AddrPort) {
	w.shard.Rejections(f.id)[w.engine.classes[class]]++
	w.rejections.Add(w.loop.Now(), rejection.Event{Class: class, Farm: f.name, Reason: reason, Client: client, Backend: backend})
}
