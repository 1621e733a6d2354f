package wire

import (
	"encoding/binary"
	"net/netip"
)

// Query is a parsed query.
type Query struct {
	ID    uint16
	Flags uint16
	Type  uint16
	Class uint16
	// Size is the size of the message, Question the offset of the end of the question.
	Size, Question int
	// Client is the client address; TCP means that it is verified by the transport.
	Client netip.Addr
	TCP    bool
	// TLS means that the connection is encrypted.
	TLS bool

	// EDNS means that the following fields are set. Room is the maximum size of a UDP
	// answer.
	EDNS, DO, NSID bool
	// Pads means that the client pads its messages (RFC 7830).
	Pads bool
	// CompactOK means that the client accepts the code NXDOMAIN together with a compact
	// denial (RFC 9824 §5.1).
	CompactOK bool
	version   uint8
	Room      int
	// Subnet is the client subnet (RFC 7871), or invalid. With zero bits the client address
	// must not be used. family and source are the received values.
	Subnet       netip.Prefix
	HasSubnet    bool
	family       uint16
	source       uint8
	cookie       [40]byte // of the client, then of the server
	cookieLength int
	Verified     bool // valid server cookie, or TCP

	// TSIGAt is the offset of the TSIG record, or 0.
	TSIGAt int

	name   [MaxName]byte // in lower case
	length int
	labels [MaxLabels + 1]uint8 // offset of each in name; the last is the root
	count  int                  // of labels, without the root
}

// Verdict is how a message is handled.
type Verdict int

// The verdicts.
const (
	Drop  Verdict = iota // no answer: it is no query, or too short
	Fail                 // an answer with the code and without the question
	Serve                // a valid query
)

// Name returns the queried name in lower case and wire format. It is valid until the next
// Parse.
func (q *Query) Name() []byte { return q.name[:q.length] }

// Labels returns the number of labels of the name. Label(Labels()) is the root.
func (q *Query) Labels() int { return q.count }

// Label returns the offset of a label in Name.
func (q *Query) Label(i int) int { return int(q.labels[i]) }

// Parse parses a message. With Fail the code describes the error. msg is not retained.
func (q *Query) Parse(msg []byte) (Verdict, Rcode) {
	verdict, code := q.parse(msg)
	if verdict == Fail {
		q.failed(msg)
	}
	return verdict, code
}

func (q *Query) parse(msg []byte) (Verdict, Rcode) {
	if len(msg) < HeaderSize {
		return Drop, 0
	}
	q.ID, q.Flags = binary.BigEndian.Uint16(msg), binary.BigEndian.Uint16(msg[2:])
	if q.Flags&FlagQR != 0 {
		return Drop, 0
	}
	q.reset(len(msg))
	if q.Flags>>opcodeShift&opcodeMask != OpQuery {
		return Fail, NotImp
	}
	questions, answers := binary.BigEndian.Uint16(msg[4:]), binary.BigEndian.Uint16(msg[6:])
	authority, more := int(binary.BigEndian.Uint16(msg[8:])), int(binary.BigEndian.Uint16(msg[10:]))
	if questions != 1 || answers != 0 {
		return Fail, FormErr
	}
	at, ok := q.question(msg)
	if !ok || authority > 0 && (q.Type != TypeIXFR || authority > 1) || more > maxAdditional {
		return Fail, FormErr
	}
	for ; authority > 0; authority-- {
		if at, ok = skipRecord(msg, at); !ok {
			return Fail, FormErr
		}
	}
	for i := range more {
		start := at
		if at, ok = skipRecord(msg, at); !ok || !q.additional(msg, start, at, i == more-1) {
			return Fail, FormErr
		}
	}
	if at != len(msg) {
		return Fail, FormErr
	}
	return Serve, NoError
}

// maxAdditional limits the records after the question: EDNS and TSIG.
const maxAdditional = 2

func (q *Query) reset(size int) {
	q.Size, q.Question, q.Room = size, 0, PlainUDP
	q.EDNS, q.DO, q.CompactOK, q.NSID, q.Pads, q.HasSubnet, q.Verified = false, false, false, false, false, false, q.TCP
	q.Subnet, q.cookieLength, q.TSIGAt = netip.Prefix{}, 0, 0
	q.length, q.count = 0, 0
}

// question parses the single question; its name is not compressed.
func (q *Query) question(msg []byte) (at int, ok bool) {
	at = HeaderSize
	for {
		if at >= len(msg) {
			return 0, false
		}
		n := int(msg[at])
		if n > maxLabel || q.length+n+1 > MaxName || at+1+n > len(msg) {
			return 0, false
		}
		q.labels[q.count] = uint8(q.length)
		q.name[q.length] = uint8(n)
		q.length++
		at++
		if n == 0 {
			break
		}
		for _, b := range msg[at : at+n] {
			q.name[q.length] = lower[b]
			q.length++
		}
		q.count++
		at += n
	}
	if at+4 > len(msg) {
		return 0, false
	}
	q.Type, q.Class = binary.BigEndian.Uint16(msg[at:]), binary.BigEndian.Uint16(msg[at+2:])
	q.Question = at + 4
	return q.Question, true
}

// lower maps each byte to lower case.
var lower = func() (t [256]byte) {
	for i := range t {
		t[i] = byte(i)
		if 'A' <= i && i <= 'Z' {
			t[i] += 'a' - 'A'
		}
	}
	return t
}()

// skipName returns the offset after a name.
func skipName(msg []byte, at int) (end int, ok bool) {
	for at < len(msg) {
		switch n := int(msg[at]); {
		case n >= 0xc0:
			return at + 2, at+2 <= len(msg)
		case n > maxLabel:
			return 0, false
		case n == 0:
			return at + 1, true
		default:
			at += 1 + n
		}
	}
	return 0, false
}

// skipRecord returns the offset after a record.
func skipRecord(msg []byte, at int) (end int, ok bool) {
	at, ok = skipName(msg, at)
	if !ok || at+10 > len(msg) {
		return 0, false
	}
	end = at + 10 + int(binary.BigEndian.Uint16(msg[at+8:]))
	return end, end <= len(msg)
}

// additional parses a record after the question: EDNS, or TSIG, which is the last.
func (q *Query) additional(msg []byte, start, end int, last bool) bool {
	at, _ := skipName(msg, start)
	switch binary.BigEndian.Uint16(msg[at:]) {
	case TypeOPT:
		if q.EDNS || msg[start] != 0 {
			return false
		}
		q.EDNS = true
		q.Room = max(PlainUDP, min(LargestUDP, int(binary.BigEndian.Uint16(msg[at+2:]))))
		q.version, q.DO, q.CompactOK = msg[at+5], msg[at+6]&0x80 != 0, msg[at+6]&0x40 != 0
		return q.options(msg[at+10 : end])
	case TypeTSIG:
		q.TSIGAt = start
		return last
	}
	return true
}

// failed only looks for EDNS in a message that is not served: a client with EDNS gets it in
// every answer, even to a malformed query (RFC 6891 §6.1.1). If parsing fails before that
// there is none.
func (q *Query) failed(msg []byte) {
	q.EDNS, q.DO, q.CompactOK, q.NSID, q.Pads, q.HasSubnet, q.cookieLength = false, false, false, false, false, false, 0
	at, ok := HeaderSize, true
	for range binary.BigEndian.Uint16(msg[4:]) {
		if at, ok = skipName(msg, at); !ok {
			return
		}
		at += 4
	}
	before, more := int(binary.BigEndian.Uint16(msg[6:]))+int(binary.BigEndian.Uint16(msg[8:])), int(binary.BigEndian.Uint16(msg[10:]))
	for i := range before + more {
		start := at
		if at, ok = skipRecord(msg, at); !ok {
			return
		}
		if i >= before && msg[start] == 0 && binary.BigEndian.Uint16(msg[start+1:]) == TypeOPT {
			q.answerable(msg[start+1 : at])
			return
		}
	}
}

// answerable reads the fields of an EDNS record, without its name, that every answer needs,
// if its options are well-formed.
func (q *Query) answerable(record []byte) {
	cookies := 0
	for list := record[10:]; len(list) > 0; {
		if len(list) < 4 || 4+int(binary.BigEndian.Uint16(list[2:])) > len(list) {
			q.Pads, q.cookieLength = false, 0
			return
		}
		n := int(binary.BigEndian.Uint16(list[2:]))
		switch binary.BigEndian.Uint16(list) {
		case optPadding:
			q.Pads = true
		case optCookie:
			if cookies++; cookies == 1 && cookieHas(n) {
				q.cookieLength = copy(q.cookie[:], list[4:4+n])
			}
		}
		list = list[4+n:]
	}
	q.EDNS, q.DO = true, record[6]&0x80 != 0
}

// cookieHas reports whether a cookie may have this size: the client's part alone, or with
// the server's (RFC 7873 §4).
func cookieHas(n int) bool { return n == 8 || n >= 16 && n <= 40 }

// Version returns the EDNS version.
func (q *Query) Version() int {
	if !q.EDNS {
		return 0
	}
	return int(q.version)
}

// options parses the EDNS options. Unknown options are ignored, and so are cookies after the
// first (RFC 7873 §5.2).
func (q *Query) options(list []byte) bool {
	for len(list) > 0 {
		if len(list) < 4 {
			return false
		}
		code, n := binary.BigEndian.Uint16(list), int(binary.BigEndian.Uint16(list[2:]))
		if list = list[4:]; n > len(list) {
			return false
		}
		data := list[:n]
		list = list[n:]
		ok := true
		switch code {
		case optNSID:
			q.NSID = true
		case optPadding:
			q.Pads = true
		case optSubnet:
			ok = q.subnet(data)
		case optCookie:
			if q.cookieLength == 0 {
				ok = cookieHas(n)
				q.cookieLength = copy(q.cookie[:], data)
			}
		}
		if !ok {
			return false
		}
	}
	return true
}

// subnet parses a client subnet: exactly as many bytes as its bits need, with the rest zero
// (RFC 7871 §6).
func (q *Query) subnet(data []byte) bool {
	if len(data) < 4 || q.HasSubnet {
		return false
	}
	q.family, q.source = binary.BigEndian.Uint16(data), data[2]
	scope, bytes := data[3], data[4:]
	bits := 32
	switch q.family {
	case 0: // no address, as dig +subnet=0 sends it
		bits = 0
	case 2:
		bits = 128
	}
	if scope != 0 || q.family > 2 || int(q.source) > bits || len(bytes) != (int(q.source)+7)/8 {
		return false
	}
	var a [16]byte
	copy(a[:], bytes)
	addr := netip.AddrFrom16(a)
	if q.family < 2 {
		addr = netip.AddrFrom4([4]byte(a[:4]))
	}
	q.HasSubnet = true
	q.Subnet = netip.PrefixFrom(addr, int(q.source))
	return q.Subnet.Masked() == q.Subnet
}

// From returns the address that decides client-dependent answers: the client subnet if sent,
// else the client's own address.
func (q *Query) From() netip.Addr {
	if q.HasSubnet && q.Subnet.Bits() > 0 {
		return q.Subnet.Addr()
	}
	return q.Client
}

// AppendLower appends a name in lower case.
func AppendLower(to, name []byte) []byte {
	for _, b := range name {
		to = append(to, lower[b])
	}
	return to
}

// EqualName compares two names of the same length, ignoring case.
func EqualName(a, b []byte) bool {
	for i := range a {
		if lower[a[i]] != lower[b[i]] {
			return false
		}
	}
	return true
}

// Serial returns the serial of the SOA record in an IXFR query (RFC 1995 §3).
func (q *Query) Serial(msg []byte) (serial uint32, ok bool) {
	if q.Type != TypeIXFR || binary.BigEndian.Uint16(msg[8:]) != 1 {
		return 0, false
	}
	end, ok := skipRecord(msg, q.Question)
	if !ok || end-q.Question < 20 {
		return 0, false
	}
	return binary.BigEndian.Uint32(msg[end-20:]), true
}
