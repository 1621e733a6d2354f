package proxy

import (
	"errors"
	"net/netip"

	"github.com/sluicelb/sluice/core/refusal"
	"github.com/sluicelb/sluice/core/stats"
	backends "github.com/sluicelb/sluice/l7/backend"
	"github.com/sluicelb/sluice/l7/http1"
)

// The classes of what is refused: what a client sent or failed to send, then
// what a backend did, then what this machine could not.
const (
	badRequest refusal.Class = iota
	smuggling                // framing that two parsers could read differently
	badHost
	badTarget
	headTooLong
	badMethod
	bodyTooLong
	tooManyClients
	timeout
	rateLimited
	unauthorized
	flood // of frames, resets or streams, which only HTTP/2 has
	badProxyHeader
	badAnswer
	cutAnswer
	backendTimeout
	noMarked     // no socket with the mark: a fault of this machine
	badHandshake // of TLS with a backend, for what the client sent
	noService    // matches the request
	noBackend    // can be used now
	shortage     // of this machine, of descriptors, ports or memory
)

// classNames are what the log calls them.
var classNames = [...]string{
	badRequest:     "bad-request",
	smuggling:      "request-smuggling",
	badHost:        "bad-host",
	badTarget:      "bad-target",
	headTooLong:    "head-too-long",
	badMethod:      "bad-method",
	bodyTooLong:    "body-too-long",
	tooManyClients: "too-many-clients",
	timeout:        "timeout",
	rateLimited:    "rate-limited",
	unauthorized:   "unauthorized",
	flood:          "flood",
	badProxyHeader: "bad-proxy-header",
	badAnswer:      "bad-answer",
	cutAnswer:      "cut-answer",
	backendTimeout: "backend-timeout",
	noMarked:       "no-marked-socket",
	badHandshake:   "backend-handshake",
	noService:      "no-service",
	noBackend:      "no-backend",
	shortage:       "shortage",
}

// classes are those of the errors whose status alone does not tell.
var classes = map[*http1.Error]refusal.Class{
	http1.ErrLength:         smuggling,
	http1.ErrLengthRepeated: smuggling,
	http1.ErrCoding:         smuggling,
	http1.ErrCodingUnknown:  badRequest,
	http1.ErrCodingVersion:  smuggling,
	http1.ErrCodingLength:   smuggling,
	http1.ErrChunkSize:      smuggling,
	http1.ErrChunkExtension: smuggling,
	http1.ErrChunkEnd:       smuggling,
	http1.ErrTrailer:        smuggling,
	http1.ErrTrailerTooLong: smuggling,
	http1.ErrTrailerField:   smuggling,

	http1.ErrHostMissing:  badHost,
	http1.ErrHostRepeated: badHost,
	http1.ErrHost:         badHost,
	http1.ErrTargetHost:   badHost,

	http1.ErrTarget:         badTarget,
	http1.ErrTargetByte:     badTarget,
	http1.ErrTargetEscape:   badTarget,
	http1.ErrTargetHidden:   badTarget,
	http1.ErrTargetDouble:   badTarget,
	http1.ErrTargetUTF8:     badTarget,
	http1.ErrTargetDots:     badTarget,
	http1.ErrTargetDotParam: badTarget,
}

// classify says what a request is refused for and how it is answered.
func classify(err error) (class refusal.Class, status int, reason string) {
	bad, ok := errors.AsType[*http1.Error](err)
	if !ok {
		return badRequest, 400, "malformed request"
	}
	class, ok = classes[bad]
	switch {
	case ok:
	case bad.Status == 414, bad.Status == 431:
		class = headTooLong
	case bad.Status == 413:
		class = bodyTooLong
	case bad.Status == 405, bad.Status == 501:
		class = badMethod
	}
	return class, bad.Status, bad.Reason
}

// countRefused counts a request that is refused for that.
func countRefused(s *stats.Farm, class refusal.Class) {
	switch class {
	case headTooLong:
		s.RefusedHead++
	case badMethod:
		s.BadMethods++
	case noService:
		s.NoBackend++
	case rateLimited, unauthorized: // the request is as it should be
	default:
		s.BadRequests++
	}
}

// answerReason says why a backend's answer is refused.
func answerReason(err error) string {
	if bad, ok := errors.AsType[*http1.Error](err); ok {
		return bad.Reason
	}
	if bad := backends.ErrorOf(err); bad != nil {
		return bad.Reason
	}
	return "malformed answer"
}

// note leaves a line of what the client is refused for. status is that of the
// answer, 0 without one; reason is a text of ours, never bytes of the client.
func (cl *client) note(class refusal.Class, status int, reason string) {
	cl.recordRefusal(class)
	w := cl.w
	name := ""
	if f := w.engine.table.Load().byID[cl.farm]; f != nil {
		name = f.name
	}
	w.note(class, status, name, reason, cl.conn.Peer(), netip.AddrPort{})
}

// note is the client's, within an exchange.
func (ex *exchange) note(class refusal.Class, status int, reason string) {
	ex.recordRefusal(class)
	ex.w.note(class, status, ex.farm.name, reason, ex.client.conn.Peer(), netip.AddrPort{})
}

// noteBackend leaves a line of what the backend did wrong.
func (ex *exchange) noteBackend(class refusal.Class, status int, reason string) {
	ex.recordRefusal(class)
	w := ex.w
	w.refusals.Add(w.loop.Now(), refusal.Event{
		Class: class, Status: uint16(status), Farm: ex.farm.name, Reason: reason,
		Client: ex.client.conn.Peer(), Backend: ex.backend.target.Addr, Alias: ex.backend.alias,
	})
}

func (w *worker) note(class refusal.Class, status int, farm, reason string, client, backend netip.AddrPort) {
	w.refusals.Add(w.loop.Now(), refusal.Event{
		Class: class, Status: uint16(status), Farm: farm, Reason: reason, Client: client, Backend: backend,
	})
}
