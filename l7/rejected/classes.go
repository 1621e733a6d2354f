package rejected

import (
	"errors"

	"github.com/sluicelb/sluice/core/rejection"
	"github.com/sluicelb/sluice/core/stats"
	"github.com/sluicelb/sluice/l7/http1"
)

// The classes of what is refused: what a client sent or failed to send, then
// what a backend did, then what this machine could not.
const (
	BadRequest rejection.Class = iota
	smuggling                  // framing that two parsers could read differently
	BadHost
	BadTarget
	HeadTooLong
	BadMethod
	BodyTooLong
	TooManyClients
	Timeout
	RateLimited
	Unauthorized
	Flood // of frames, resets or streams, which only HTTP/2 has
	BadProxyHeader
	BadAnswer
	CutAnswer
	BackendTimeout
	NoMarked     // no socket with the mark: a fault of this machine
	BadHandshake // of TLS with a backend, for what the client sent
	NoService    // matches the request
	NoBackend    // can be used now
	Shortage     // of this machine, of descriptors, ports or memory
)

// Names are what the log calls them.
var Names = [...]string{
	BadRequest:     "bad-request",
	smuggling:      "request-smuggling",
	BadHost:        "bad-host",
	BadTarget:      "bad-target",
	HeadTooLong:    "head-too-long",
	BadMethod:      "bad-method",
	BodyTooLong:    "body-too-long",
	TooManyClients: "too-many-clients",
	Timeout:        "timeout",
	RateLimited:    "rate-limited",
	Unauthorized:   "unauthorized",
	Flood:          "flood",
	BadProxyHeader: "bad-proxy-header",
	BadAnswer:      "bad-answer",
	CutAnswer:      "cut-answer",
	BackendTimeout: "backend-timeout",
	NoMarked:       "no-marked-socket",
	BadHandshake:   "backend-handshake",
	NoService:      "no-service",
	NoBackend:      "no-backend",
	Shortage:       "shortage",
}

// classes are those of the errors whose status alone does not tell.
var classes = map[*http1.Error]rejection.Class{
	http1.ErrLength:         smuggling,
	http1.ErrLengthRepeated: smuggling,
	http1.ErrCoding:         smuggling,
	http1.ErrCodingUnknown:  BadRequest,
	http1.ErrCodingVersion:  smuggling,
	http1.ErrCodingLength:   smuggling,
	http1.ErrChunkSize:      smuggling,
	http1.ErrChunkExtension: smuggling,
	http1.ErrChunkEnd:       smuggling,
	http1.ErrTrailer:        smuggling,
	http1.ErrTrailerTooLong: smuggling,
	http1.ErrTrailerField:   smuggling,

	http1.ErrHostMissing:  BadHost,
	http1.ErrHostRepeated: BadHost,
	http1.ErrHost:         BadHost,
	http1.ErrTargetHost:   BadHost,

	http1.ErrTarget:        BadTarget,
	http1.ErrTargetByte:    BadTarget,
	http1.ErrTargetEscape:  BadTarget,
	http1.ErrTargetHidden:  BadTarget,
	http1.ErrTargetDouble:  BadTarget,
	http1.ErrTargetUTF8:    BadTarget,
	http1.ErrTargetDots:    BadTarget,
	http1.ErrTargetParam:   BadTarget,
	http1.ErrTargetControl: BadTarget,
}

// Classify says what a request is refused for and how it is answered.
func Classify(err error) (class rejection.Class, status int, reason string) {
	bad, ok := errors.AsType[*http1.Error](err)
	if !ok {
		return BadRequest, 400, "malformed request"
	}
	class, ok = classes[bad]
	switch {
	case ok:
	case bad.Status == 414, bad.Status == 431:
		class = HeadTooLong
	case bad.Status == 413:
		class = BodyTooLong
	case bad.Status == 405, bad.Status == 501:
		class = BadMethod
	}
	return class, bad.Status, bad.Reason
}

// Count counts a request that is refused for that.
func Count(s *stats.Farm, class rejection.Class) {
	switch class {
	case HeadTooLong:
		s.RefusedHead++
	case BadMethod:
		s.BadMethods++
	case NoService:
		s.NoBackend++
	case RateLimited, Unauthorized: // the request is as it should be
	default:
		s.BadRequests++
	}
}

// Cause is why and how a request is refused.
type Cause struct {
	Class  rejection.Class // as which it is counted
	Status int             // of the answer
	Reason string          // a text of ours
}

// Because returns the Cause of that class, answered with that status. It allocates:
// causes are variables.
func Because(class rejection.Class, status int, reason string) *Cause {
	return &Cause{class, status, reason}
}
