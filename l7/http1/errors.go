package http1

// Error is the reason for refusing a head or a body. All values are the sentinels below;
// compare them with ==.
type Error struct {
	// Status is the response to the client: 4xx or 5xx, and 502 for faults of a backend.
	// Errors that both sides can cause (fields, framing, chunks) have 400; callers that read
	// from a backend respond with 502.
	Status int
	// Reason is a short fixed text for logs and counters.
	Reason string
}

// Error implements error.
func (e *Error) Error() string { return "http/1: " + e.Reason }

// Errors of the request line.
var (
	ErrRequestLine    = &Error{400, "malformed request line"}
	ErrMethodTooLong  = &Error{501, "method too long"}
	ErrConnect        = &Error{405, "method CONNECT on a normal farm"}
	ErrVersion        = &Error{400, "malformed protocol version"}
	ErrVersionUnknown = &Error{505, "protocol version not supported"}
	ErrTargetTooLong  = &Error{414, "request target too long"}
	ErrTarget         = &Error{400, "malformed request target"}
	ErrTargetByte     = &Error{400, "byte not allowed in request target"}
	ErrTargetEscape   = &Error{400, "malformed percent escape in path"}
	ErrTargetControl  = &Error{400, "escaped NUL, CR or LF in path"}
	ErrTargetHidden   = &Error{400, "escaped slash or backslash in path"}
	ErrTargetDouble   = &Error{400, "percent escape encoded twice"}
	ErrTargetUTF8     = &Error{400, "invalid or overlong UTF-8 in path"}
	ErrTargetDots     = &Error{400, "path climbs above the root"}
	ErrTargetParam    = &Error{400, "path parameter in a dot segment"}
	ErrTargetHost     = &Error{400, "absolute target and Host disagree"}
)

// Errors of fields and framing.
var (
	ErrHeadTooLong    = &Error{431, "head too long"}
	ErrTooManyFields  = &Error{431, "too many fields"}
	ErrLineEnd        = &Error{400, "line does not end in CRLF"}
	ErrFold           = &Error{400, "folded field line"}
	ErrFieldName      = &Error{400, "malformed field name"}
	ErrFieldValue     = &Error{400, "control byte in field value"}
	ErrHostMissing    = &Error{400, "no Host"}
	ErrHostRepeated   = &Error{400, "several Host fields"}
	ErrHost           = &Error{400, "malformed Host"}
	ErrLength         = &Error{400, "malformed Content-Length"}
	ErrLengthRepeated = &Error{400, "several Content-Length fields"}
	ErrCoding         = &Error{400, "Transfer-Encoding is not exactly chunked"}
	ErrCodingUnknown  = &Error{501, "Transfer-Encoding with a coding besides chunked"}
	ErrCodingVersion  = &Error{400, "Transfer-Encoding in HTTP/1.0"}
	ErrCodingLength   = &Error{400, "Transfer-Encoding with Content-Length"}
	ErrConnection     = &Error{400, "malformed Connection"}
	ErrExpect         = &Error{417, "unknown expectation"}
	ErrTraceBody      = &Error{400, "TRACE with a body"}
)

// Errors of upgrade handshakes.
var (
	ErrWebSocketMethod     = &Error{400, "WebSocket handshake with a method other than GET"}
	ErrWebSocketKeyMissing = &Error{400, "WebSocket handshake without Sec-WebSocket-Key"}
	ErrWebSocketKey        = &Error{400, "Sec-WebSocket-Key is not 16 bytes in base64"}
	ErrSwitchUnasked       = &Error{502, "switch of protocols without a request for it"}
	ErrSwitchUpgrade       = &Error{502, "101 without Upgrade"}
	ErrSwitchConnection    = &Error{502, "101 without Connection: upgrade"}
	ErrSwitchProtocol      = &Error{502, "101 to another protocol than the request's Upgrade"}
	ErrAcceptMissing       = &Error{502, "101 to WebSocket without Sec-WebSocket-Accept"}
	ErrAccept              = &Error{502, "101 to WebSocket with a wrong Sec-WebSocket-Accept"}
	ErrSubprotocol         = &Error{502, "101 to WebSocket with a Sec-WebSocket-Protocol the client did not offer"}
	ErrExtension           = &Error{502, "101 to WebSocket with a Sec-WebSocket-Extensions the client did not offer"}
)

// Errors of responses.
var (
	ErrStatusLine    = &Error{502, "malformed status line"}
	ErrStatusVersion = &Error{502, "response in an unknown protocol version"}
)

// Errors of responses with unambiguous deviations from the grammar. The setting
// backend_leniency of a service accepts them by the name in parentheses.
var (
	ErrCodingRepeated = &Error{502, "Transfer-Encoding repeats chunked (backend_leniency: repeated_chunked)"}
	ErrCodingIdentity = &Error{502, "Transfer-Encoding is identity (backend_leniency: identity_coding)"}
	ErrChunkForm      = &Error{502, "blanks or needless zeros around a chunk size (backend_leniency: chunk_size)"}
	ErrStatusRange    = &Error{502, "status above 599 (backend_leniency: status_range)"}
	ErrStatusForm     = &Error{502, "version, blanks or control bytes in the status line (backend_leniency: status_line)"}
	ErrBareHead       = &Error{502, "lines of the head end in LF without CR (backend_leniency: bare_lf)"}
	ErrNameBlank      = &Error{502, "blank between field name and colon (backend_leniency: name_blanks)"}
	ErrNameByte       = &Error{502, "byte in a field name that no token has (backend_leniency: field_names)"}
	ErrControl        = &Error{502, "control byte in field value (backend_leniency: control_bytes)"}
	ErrConnectionForm = &Error{502, "malformed Connection (backend_leniency: connection)"}
)

// ErrMixedEnds is never accepted: in one of two readings, a field contains another.
var ErrMixedEnds = &Error{502, "lines of the head end in LF, others in CRLF"}

// errBareHead makes Parse accept a head with LF line ends.
var errBareHead = &Error{502, "lines of the head end in LF"}

// Errors of chunked bodies.
var (
	ErrChunkSize      = &Error{400, "malformed chunk size"}
	ErrChunkExtension = &Error{400, "malformed or endless chunk extension"}
	ErrChunkEnd       = &Error{400, "chunk does not end in CRLF"}
	ErrTrailer        = &Error{400, "malformed trailer"}
	ErrTrailerTooLong = &Error{400, "trailers too long"}
	ErrBodyTooLong    = &Error{413, "body over its limit"}
	ErrTrailerField   = &Error{400, "trailer carries a framing or identity field"}
)
