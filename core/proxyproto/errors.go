package proxyproto

// Error is the reason why bytes are not a valid header. Its text contains none of them.
type Error struct{ Reason string }

// Error implements error.
func (e *Error) Error() string { return "PROXY header: " + e.Reason }

// Errors of Feed. After ErrNone nothing was consumed; after all others the connection
// is unusable.
var (
	// ErrNone means that the bytes begin neither version of the header.
	ErrNone = &Error{"there is none"}
	// ErrLong means no end within MaxV1 bytes, or a length beyond MaxV2.
	ErrLong = &Error{"too long"}
	// ErrLine means that a line of version 1 violates the specification.
	ErrLine = &Error{"malformed line"}
	// ErrAddress means that an address or port is invalid or of the wrong family.
	ErrAddress = &Error{"malformed address"}
	// ErrVersion means that the version, command or family after the signature of
	// version 2 is undefined.
	ErrVersion = &Error{"unknown version, command or family"}
	// ErrLength means that the length of version 2 is too small for the addresses.
	ErrLength = &Error{"too short for its addresses"}
	// ErrTLV means that the TLVs do not fill the header exactly.
	ErrTLV = &Error{"malformed TLV"}
	// ErrChecksum means that the checksum is wrong or present twice.
	ErrChecksum = &Error{"wrong checksum"}
)
