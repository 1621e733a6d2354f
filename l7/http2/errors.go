package http2

// Error is an error of the peer. All values are the sentinels below; compare them with ==.
// Each is counted, see Shared.Count.
type Error struct {
	// Code is sent to the peer in RST_STREAM or GOAWAY.
	Code Code
	// Reason is a short fixed text for logs and counter names.
	Reason string
	index  int
}

// Error implements error.
func (e *Error) Error() string { return "http/2: " + e.Reason }

// all holds the sentinels by index.
var all []*Error

func declare(code Code, reason string) *Error {
	e := &Error{code, reason, len(all)}
	all = append(all, e)
	return e
}

// Errors returns the sentinels.
func Errors() []*Error { return all }

// Violations of the rules for frames and states. Most end the connection.
var (
	ErrPreface        = declare(CodeProtocol, "no HTTP/2 preface")
	ErrNoSettings     = declare(CodeProtocol, "first frame is not SETTINGS")
	ErrFrameSize      = declare(CodeFrameSize, "frame larger than allowed")
	ErrFrameLength    = declare(CodeFrameSize, "frame of a wrong length for its type")
	ErrFrameStream    = declare(CodeProtocol, "frame on a stream it cannot be on")
	ErrPadding        = declare(CodeProtocol, "padding longer than the frame")
	ErrIdle           = declare(CodeProtocol, "frame on an idle stream")
	ErrClosed         = declare(CodeStreamClosed, "frame on a closed stream")
	ErrStreamID       = declare(CodeProtocol, "stream identifier even or not increasing")
	ErrContinuation   = declare(CodeProtocol, "header block interrupted, or continued without a beginning")
	ErrCompression    = declare(CodeCompression, "header block that cannot be decompressed")
	ErrSettings       = declare(CodeProtocol, "setting with a value it cannot have")
	ErrSettingsWindow = declare(CodeFlowControl, "initial window larger than a window can be")
	ErrIncrement      = declare(CodeProtocol, "window update of zero")
	ErrWindowOverflow = declare(CodeFlowControl, "window larger than a window can be")
	ErrWindow         = declare(CodeFlowControl, "more data than the window allows")
	ErrDependency     = declare(CodeProtocol, "stream depends on itself")
	ErrPush           = declare(CodeProtocol, "PUSH_PROMISE although push is disabled")
	ErrGoAway         = declare(CodeProtocol, "GOAWAY that takes streams back")
)

// Malformed messages (RFC 9113 section 8.1.1). They end the stream.
var (
	ErrFieldName     = declare(CodeProtocol, "malformed field name")
	ErrFieldValue    = declare(CodeProtocol, "field value with a control byte or blanks around it")
	ErrConnection    = declare(CodeProtocol, "connection-specific field")
	ErrTE            = declare(CodeProtocol, "TE other than trailers")
	ErrPseudo        = declare(CodeProtocol, "pseudo field unknown, out of place or repeated")
	ErrPseudoMissing = declare(CodeProtocol, "pseudo field missing or empty")
	ErrMethod        = declare(CodeProtocol, "malformed method")
	ErrScheme        = declare(CodeProtocol, "scheme is neither http nor https")
	ErrPath          = declare(CodeProtocol, "malformed path")
	ErrAuthority     = declare(CodeProtocol, "malformed authority")
	ErrHost          = declare(CodeProtocol, "Host repeated or other than the authority")
	ErrStatus        = declare(CodeProtocol, "malformed status")
	ErrLength        = declare(CodeProtocol, "malformed content-length")
	ErrLengthData    = declare(CodeProtocol, "content-length is not the length of the data")
	ErrTrailers      = declare(CodeProtocol, "trailers that do not end the message")
	ErrHeadMissing   = declare(CodeProtocol, "data before the head")
	ErrBody          = declare(CodeProtocol, "data in a message that has none")
	ErrHeadTooLong   = declare(CodeEnhanceYourCalm, "field list too long")
)

// Limits. ErrStreams refuses the stream; all others end the connection.
var (
	ErrStreams           = declare(CodeRefusedStream, "too many streams at once")
	ErrRapidReset        = declare(CodeEnhanceYourCalm, "too many streams reset")
	ErrBlock             = declare(CodeEnhanceYourCalm, "header block too long")
	ErrBomb              = declare(CodeEnhanceYourCalm, "too much compressed into too little")
	ErrContinuationFlood = declare(CodeEnhanceYourCalm, "too many CONTINUATION frames")
	ErrSettingsFlood     = declare(CodeEnhanceYourCalm, "too many SETTINGS frames")
	ErrPingFlood         = declare(CodeEnhanceYourCalm, "too many PING frames")
	ErrPriorityFlood     = declare(CodeEnhanceYourCalm, "too many PRIORITY frames")
	ErrUpdateFlood       = declare(CodeEnhanceYourCalm, "too many WINDOW_UPDATE frames")
	ErrEmptyFlood        = declare(CodeEnhanceYourCalm, "too many empty DATA frames")
	ErrClosedFlood       = declare(CodeEnhanceYourCalm, "too many frames on closed streams")
	ErrInterimFlood      = declare(CodeEnhanceYourCalm, "too many interim responses")
	ErrUnknownFlood      = declare(CodeEnhanceYourCalm, "too many frames of unknown types")
	ErrNotReading        = declare(CodeEnhanceYourCalm, "peer does not read what it asks for")
)
