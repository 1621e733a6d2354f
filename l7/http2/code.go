package http2

// Code is the error code of a stream or connection (RFC 9113 section 7).
type Code uint32

// The codes.
const (
	CodeNo                 Code = 0x0
	CodeProtocol           Code = 0x1
	CodeInternal           Code = 0x2
	CodeFlowControl        Code = 0x3
	CodeSettingsTimeout    Code = 0x4
	CodeStreamClosed       Code = 0x5
	CodeFrameSize          Code = 0x6
	CodeRefusedStream      Code = 0x7
	CodeCancel             Code = 0x8
	CodeCompression        Code = 0x9
	CodeConnect            Code = 0xa
	CodeEnhanceYourCalm    Code = 0xb
	CodeInadequateSecurity Code = 0xc
	CodeHTTP11Required     Code = 0xd
)

var codeNames = [...]string{
	CodeNo:                 "NO_ERROR",
	CodeProtocol:           "PROTOCOL_ERROR",
	CodeInternal:           "INTERNAL_ERROR",
	CodeFlowControl:        "FLOW_CONTROL_ERROR",
	CodeSettingsTimeout:    "SETTINGS_TIMEOUT",
	CodeStreamClosed:       "STREAM_CLOSED",
	CodeFrameSize:          "FRAME_SIZE_ERROR",
	CodeRefusedStream:      "REFUSED_STREAM",
	CodeCancel:             "CANCEL",
	CodeCompression:        "COMPRESSION_ERROR",
	CodeConnect:            "CONNECT_ERROR",
	CodeEnhanceYourCalm:    "ENHANCE_YOUR_CALM",
	CodeInadequateSecurity: "INADEQUATE_SECURITY",
	CodeHTTP11Required:     "HTTP_1_1_REQUIRED",
}

// String returns the name from the RFC.
func (c Code) String() string {
	if int(c) < len(codeNames) {
		return codeNames[c]
	}
	return "unknown error code"
}
