package wire

// Sizes of messages, in bytes.
const (
	HeaderSize = 12
	MaxName    = 255 // including the empty root label
	maxLabel   = 63
	MaxLabels  = 127
	PlainUDP   = 512  // maximum without EDNS (RFC 1035 §4.2.1)
	LargestUDP = 1232 // our maximum: fits every path without fragments
	LargestTCP = 65535
)

// Bits of the second word of a header.
const (
	FlagQR      = 1 << 15
	FlagAA      = 1 << 10
	FlagTC      = 1 << 9
	FlagRD      = 1 << 8
	FlagAD      = 1 << 5
	FlagCD      = 1 << 4
	opcodeShift = 11
	opcodeMask  = 0xf
)

// Opcodes.
const (
	OpQuery  = 0
	OpNotify = 4
)

// Rcode is a response code.
type Rcode uint16

// The codes. Those beyond 15 need EDNS.
const (
	NoError  Rcode = 0
	FormErr  Rcode = 1
	ServFail Rcode = 2
	NXDomain Rcode = 3
	NotImp   Rcode = 4
	Refused  Rcode = 5
	YXDomain Rcode = 6 // the result of a DNAME is too long (RFC 6672 §2.2)
	NotAuth  Rcode = 9
	BadVers  Rcode = 16
	BadCook  Rcode = 23
)

// String returns dig's word for the code.
func (r Rcode) String() string {
	switch r {
	case NoError:
		return "NOERROR"
	case FormErr:
		return "FORMERR"
	case ServFail:
		return "SERVFAIL"
	case NXDomain:
		return "NXDOMAIN"
	case NotImp:
		return "NOTIMP"
	case Refused:
		return "REFUSED"
	case YXDomain:
		return "YXDOMAIN"
	case NotAuth:
		return "NOTAUTH"
	case BadVers:
		return "BADVERS"
	case BadCook:
		return "BADCOOKIE"
	}
	return "RCODE"
}

// Types and classes used here.
const (
	TypeA       uint16 = 1
	TypeNS      uint16 = 2
	TypeCNAME   uint16 = 5
	TypeSOA     uint16 = 6
	TypeMB      uint16 = 7
	TypeMG      uint16 = 8
	TypeMR      uint16 = 9
	TypePTR     uint16 = 12
	TypeHINFO   uint16 = 13
	TypeMINFO   uint16 = 14
	TypeMX      uint16 = 15
	TypeTXT     uint16 = 16
	TypeRP      uint16 = 17
	TypeAFSDB   uint16 = 18
	TypeRT      uint16 = 21
	TypePX      uint16 = 26
	TypeAAAA    uint16 = 28
	TypeSRV     uint16 = 33
	TypeNAPTR   uint16 = 35
	TypeKX      uint16 = 36
	TypeDNAME   uint16 = 39
	TypeOPT     uint16 = 41
	TypeDS      uint16 = 43
	TypeRRSIG   uint16 = 46
	TypeNSEC    uint16 = 47
	TypeDNSKEY  uint16 = 48
	TypeCDS     uint16 = 59
	TypeCDNSKEY uint16 = 60
	TypeSVCB    uint16 = 64
	TypeHTTPS   uint16 = 65
	TypeNXNAME  uint16 = 128 // of names that do not exist, only in NSEC records (RFC 9824 §3.2)
	TypeTSIG    uint16 = 250
	TypeIXFR    uint16 = 251
	TypeAXFR    uint16 = 252
	TypeANY     uint16 = 255

	ClassIN  uint16 = 1
	ClassCH  uint16 = 3
	ClassANY uint16 = 255
)

// Options of EDNS.
const (
	optNSID    = 3
	optPadding = 12
	optSubnet  = 8
	optCookie  = 10
	optError   = 15
)

// ExtendedError is an extended DNS error (RFC 8914); 0 means none.
type ExtendedError uint16

// The extended errors, one more than their number.
const (
	NoMore           ExtendedError = 0
	NotReady         ExtendedError = 15
	NotAuthoritative ExtendedError = 21
	NotSupported     ExtendedError = 22
	InvalidType      ExtendedError = 31
)
