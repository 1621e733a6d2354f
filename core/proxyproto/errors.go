package proxyproto

// Error is why bytes are no header. Its text holds none of them.
type Error struct{ Reason string }

// Error implements error.
func (e *Error) Error() string { return "PROXY header: " + e.Reason }

// What Feed reports. After ErrNone nothing was taken; after all others the
// connection is of no use.
var (
	// ErrNone: the bytes begin no header of either version.
	ErrNone = &Error{"there is none"}
	// ErrLong: no end within MaxV1 bytes, or a length beyond MaxV2.
	ErrLong = &Error{"too long"}
	// ErrLine: version 1 is not one of the lines of the specification.
	ErrLine = &Error{"malformed line"}
	// ErrAddress: an address or a port in it is none, or of the other family.
	ErrAddress = &Error{"malformed address"}
	// ErrVersion: the signature of version 2 is followed by another version, or
	// by a command or a family that is not defined.
	ErrVersion = &Error{"unknown version, command or family"}
	// ErrLength: the length of version 2 does not hold the addresses.
	ErrLength = &Error{"too short for its addresses"}
	// ErrTLV: the TLVs do not fill the header exactly.
	ErrTLV = &Error{"malformed TLV"}
	// ErrChecksum: the checksum is there and wrong, or there twice.
	ErrChecksum = &Error{"wrong checksum"}
)
