package wire

import (
	"encoding/binary"
)

// Reply is an answer being written: header and question, then the sections in order. Records
// that do not fit are left out.
type Reply struct {
	// Msg is the message so far, in the caller's memory. Limit is its maximum size without
	// the room reserved for EDNS.
	Msg   []byte
	Limit int

	Rcode Rcode
	AA    bool
	// TC is set if the answer or a referral did not fit.
	TC   bool
	More ExtendedError
	// NoName means that the name does not exist, even if Rcode is another one.
	NoName bool
	// Scope is the number of bits of the client's net that the answer depends on.
	Scope uint8

	counts [3]uint16
}

// Section is a part of an answer.
type Section int

// The sections.
const (
	Answer Section = iota
	Authority
	Additional
)

// Count returns the number of records in a section.
func (r *Reply) Count(s Section) int { return int(r.counts[s]) }

// Begin starts the answer to the query in msg, in the caller's memory with room for limit
// bytes.
func (r *Reply) Begin(q *Query, msg, space []byte, limit int) {
	*r = Reply{Msg: append(space[:0], msg[:q.Question]...), Limit: limit}
	if q.EDNS {
		r.Limit -= q.optionsSize()
	}
}

// optionsSize returns the maximum size of the options in an answer to q.
func (q *Query) optionsSize() int {
	n := 11 + 6 // the record, and an extended error
	if q.HasSubnet {
		n += 8 + int(q.source+7)/8
	}
	if q.cookieLength > 0 {
		n += 4 + cookieSize
	}
	if q.NSID {
		n += 4 + maxNSID
	}
	return n
}

// Fits reports whether n more bytes fit.
func (r *Reply) Fits(n int) bool { return len(r.Msg)+n <= r.Limit }

// Added counts records that were appended to Msg.
func (r *Reply) Added(s Section, n int) { r.counts[s] += uint16(n) }

// Mark is a position for Back.
type Mark struct {
	at     int
	counts [3]uint16
}

// Mark returns the current position.
func (r *Reply) Mark() Mark { return Mark{len(r.Msg), r.counts} }

// Back removes everything appended since.
func (r *Reply) Back(m Mark) { r.Msg, r.counts = r.Msg[:m.at], m.counts }

// Truncate keeps only the question: the client retries by TCP.
func (r *Reply) Truncate(q *Query) {
	r.Msg, r.counts, r.TC = r.Msg[:q.Question], [3]uint16{}, true
}

// Record appends a record without its data: owner is a compression pointer.
func (r *Reply) Record(owner uint16, typ uint16, ttl uint32, length int) {
	r.Msg = append(r.Msg, byte(owner>>8)|0xc0, byte(owner), byte(typ>>8), byte(typ), 0, byte(ClassIN),
		byte(ttl>>24), byte(ttl>>16), byte(ttl>>8), byte(ttl), byte(length>>8), byte(length))
}

// RecordSize is the size of a record with a pointer as owner, without its data.
const RecordSize = 12

// End writes the header and the EDNS record, and returns the message.
func (r *Reply) End(q *Query, s *Server) []byte {
	additional := r.counts[Additional]
	if q.EDNS {
		r.edns(q, s)
		additional++
	}
	flags := uint16(FlagQR) | q.Flags&(FlagRD|FlagCD|opcodeMask<<opcodeShift) | uint16(r.Rcode&0xf)
	if r.AA {
		flags |= FlagAA
	}
	if r.TC {
		flags |= FlagTC
	}
	h := r.Msg[:HeaderSize]
	binary.BigEndian.PutUint16(h[2:], flags)
	binary.BigEndian.PutUint16(h[4:], 1)
	binary.BigEndian.PutUint16(h[6:], r.counts[Answer])
	binary.BigEndian.PutUint16(h[8:], r.counts[Authority])
	binary.BigEndian.PutUint16(h[10:], additional)
	return r.Msg
}

// Failure returns the answer to a message that could not be parsed: a header, and EDNS if
// the message had it.
func Failure(q *Query, code Rcode, s *Server, space []byte) []byte {
	r := Reply{Msg: append(space[:0], byte(q.ID>>8), byte(q.ID), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0), Rcode: code}
	binary.BigEndian.PutUint16(r.Msg[2:], FlagQR|q.Flags&(FlagRD|opcodeMask<<opcodeShift)|uint16(code&0xf))
	if q.EDNS {
		r.edns(q, s)
		r.Msg[HeaderSize-1] = 1
	}
	return r.Msg
}
