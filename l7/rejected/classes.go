package rejected

import (
	"errors"

	"github.com/sluicelb/sluice/core/rejection"
	"github.com/sluicelb/sluice/core/stats"
	"github.com/sluicelb/sluice/l7/http1"
)

// Classes of rejections: by client behaviour, then by backend behaviour, then by limits of
// this machine.
const (
	BadRequest rejection.Class = iota
	smuggling                  // framing that two parsers could interpret differently
	BadHost
	BadTarget
	HeadTooLong
	BadMethod
	BodyTooLong
	TooManyClients
	Timeout
	RateLimited
	Unauthorized
	Flood // of frames, resets or streams; HTTP/2 only
	BadProxyHeader
	ClientHandshake // TLS handshake with a client failed
	BadAnswer
	CutAnswer
	BackendTimeout
	NoMarked     // no marked socket available: a fault of this machine
	BadHandshake // TLS handshake with a backend failed because of the client's input
	NoService    // no service matches
	NoBackend    // no backend is usable
	Shortage     // this machine lacks descriptors, ports or memory
)

// Names holds the names of the classes in the log.
var Names = [...]string{
	BadRequest:      "bad-request",
	smuggling:       "request-smuggling",
	BadHost:         "bad-host",
	BadTarget:       "bad-target",
	HeadTooLong:     "head-too-long",
	BadMethod:       "bad-method",
	BodyTooLong:     "body-too-long",
	TooManyClients:  "too-many-clients",
	Timeout:         "timeout",
	RateLimited:     "rate-limited",
	Unauthorized:    "unauthorized",
	Flood:           "flood",
	BadProxyHeader:  "bad-proxy-header",
	ClientHandshake: "client-handshake",
	BadAnswer:       "bad-answer",
	CutAnswer:       "cut-answer",
	BackendTimeout:  "backend-timeout",
	NoMarked:        "no-marked-socket",
	BadHandshake:    "backend-handshake",
	NoService:       "no-service",
	NoBackend:       "no-backend",
	Shortage:        "shortage",
}

// classes maps errors whose status does not determine the class.
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

// Classify returns the class, response status and reason of a refusal.
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

// Count counts a refused request.
func Count(s *stats.Farm, class rejection.Class) {
	switch class {
	case HeadTooLong:
		s.RefusedHead++
	case BadMethod:
		s.BadMethods++
	case NoService:
		s.NoBackend++
	case RateLimited, Unauthorized: // the request itself is valid
	default:
		s.BadRequests++
	}
}

// Cause is the reason for a refusal and its response.
type Cause struct {
	Class  rejection.Class // counter
	Status int             // of the response
	Reason string          // fixed text
}

// Because returns a Cause. It allocates, so causes are stored in variables.
func Because(class rejection.Class, status int, reason string) *Cause {
	return &Cause{class, status, reason}
}
