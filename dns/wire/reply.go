package wire

import (
	"encoding/binary"
)

// Reply is an answer as it is written: header and question, then sections in their
// order. What does not fit is left out, and Full says so.
type Reply struct {
	// Msg is the message so far, in memory of the caller's; Limit is how long it
	// may become, without the room that is kept for EDNS.
	Msg   []byte
	Limit int

	Rcode Rcode
	AA    bool
	// TC is set where the answer or a referral did not fit.
	TC   bool
	More ExtendedError
	// NoName says that the name is not there, whatever Rcode is.
	NoName bool
	// Scope is how many bits of the client's net the answer depends on.
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

// Count is how many records a section has.
func (r *Reply) Count(s Section) int { return int(r.counts[s]) }

// Begin starts the answer to a query whose message is msg, in memory of the caller's
// that has room for limit bytes.
func (r *Reply) Begin(q *Query, msg, space []byte, limit int) {
	*r = Reply{Msg: append(space[:0], msg[:q.Question]...), Limit: limit}
	if q.EDNS {
		r.Limit -= q.optionsSize()
	}
}

// optionsSize is how much room the options of an answer to q take at most.
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

// Mark is a place to come back to.
type Mark struct {
	at     int
	counts [3]uint16
}

// Mark returns the present place.
func (r *Reply) Mark() Mark { return Mark{len(r.Msg), r.counts} }

// Back takes away what was appended since.
func (r *Reply) Back(m Mark) { r.Msg, r.counts = r.Msg[:m.at], m.counts }

// Truncate leaves the question alone: the client asks again by TCP.
func (r *Reply) Truncate(q *Query) {
	r.Msg, r.counts, r.TC = r.Msg[:q.Question], [3]uint16{}, true
}

// Record appends the head of a record, all but its data: owner is a pointer to a
// name in the message.
func (r *Reply) Record(owner uint16, typ uint16, ttl uint32, length int) {
	r.Msg = append(r.Msg, byte(owner>>8)|0xc0, byte(owner), byte(typ>>8), byte(typ), 0, byte(ClassIN),
		byte(ttl>>24), byte(ttl>>16), byte(ttl>>8), byte(ttl), byte(length>>8), byte(length))
}

// RecordSize is how long a record with a pointer for its owner is, without its data.
const RecordSize = 12

// End writes the header, and what EDNS says of this server, and returns the message.
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

// Failure is the answer to what could not be read: a header, EDNS if the message had it,
// and nothing else of what came.
func Failure(q *Query, code Rcode, s *Server, space []byte) []byte {
	r := Reply{Msg: append(space[:0], byte(q.ID>>8), byte(q.ID), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0), Rcode: code}
	binary.BigEndian.PutUint16(r.Msg[2:], FlagQR|q.Flags&(FlagRD|opcodeMask<<opcodeShift)|uint16(code&0xf))
	if q.EDNS {
		r.edns(q, s)
		r.Msg[HeaderSize-1] = 1
	}
	return r.Msg
}
