package wire

import (
	"encoding/binary"
	"time"

	"github.com/dchest/siphash"
)

const (
	maxNSID    = 64
	cookieSize = 24 // 8 of the client, 16 of the server
)

// Server holds the server's data in answers.
type Server struct {
	NSID string // at most 64 bytes
	// Secret is the key of server cookies (RFC 9018 §4.2).
	Secret [2]uint64
}

// edns appends the EDNS record.
func (r *Reply) edns(q *Query, s *Server) {
	var flags byte
	if q.DO {
		flags = 0x80
	}
	r.Msg = append(r.Msg, 0, byte(TypeOPT>>8), byte(TypeOPT), LargestUDP>>8, LargestUDP&0xff, byte(r.Rcode>>4), 0, flags, 0, 0, 0)
	length := len(r.Msg) - 2
	if q.HasSubnet {
		r.subnet(q)
	}
	if q.cookieLength > 0 {
		r.cookie(q, s)
	}
	if q.NSID && s.NSID != "" {
		r.option(optNSID, len(s.NSID))
		r.Msg = append(r.Msg, s.NSID...)
	}
	if r.More != NoMore {
		r.option(optError, 2)
		r.Msg = binary.BigEndian.AppendUint16(r.Msg, uint16(r.More)-1)
	}
	if q.Pads && q.TLS {
		r.pad()
	}
	binary.BigEndian.PutUint16(r.Msg[length:], uint16(len(r.Msg)-length-2))
}

// block is the padding block size of encrypted answers, so that their length reveals little
// (RFC 8467 §4.1).
const block = 468

// pad pads the message to whole blocks, if the limit allows.
func (r *Reply) pad() {
	n := block - 1 - (len(r.Msg)+4+block-1)%block
	if len(r.Msg)+4+n > LargestTCP {
		return
	}
	r.option(optPadding, n)
	for range n {
		r.Msg = append(r.Msg, 0)
	}
}

func (r *Reply) option(code, length int) {
	r.Msg = append(r.Msg, byte(code>>8), byte(code), byte(length>>8), byte(length))
}

// subnet repeats the client subnet with the scope of the answer. Without a subnet the answer
// depends on the address of the resolver, which the scope does not describe.
func (r *Reply) subnet(q *Query) {
	n, scope := int(q.source+7)/8, r.Scope
	if q.source == 0 {
		scope = 0
	}
	r.option(optSubnet, 4+n)
	r.Msg = append(r.Msg, byte(q.family>>8), byte(q.family), q.source, scope)
	if q.family == 1 {
		a := q.Subnet.Addr().As4()
		r.Msg = append(r.Msg, a[:n]...)
		return
	}
	a := q.Subnet.Addr().As16()
	r.Msg = append(r.Msg, a[:n]...)
}

// Server cookies are valid for an hour, and up to five minutes early, because clocks of
// servers with the same secret differ (RFC 9018 §4.3).
const (
	cookieAge   = 3600
	cookieEarly = 300
)

// cookie returns the client's cookie with a server cookie.
func (r *Reply) cookie(q *Query, s *Server) {
	r.option(optCookie, cookieSize)
	var c [cookieSize]byte
	copy(c[:8], q.cookie[:8])
	c[8] = 1 // version
	binary.BigEndian.PutUint32(c[12:], uint32(time.Now().Unix()))
	binary.LittleEndian.PutUint64(c[16:], s.sign(c[:16], q))
	r.Msg = append(r.Msg, c[:]...)
}

// sign returns the hash of a cookie's first 16 bytes and the client address.
func (s *Server) sign(cookie []byte, q *Query) uint64 {
	var in [32]byte
	n := copy(in[:], cookie[:16])
	if q.Client.Is4() {
		a := q.Client.As4()
		n += copy(in[n:], a[:])
	} else {
		a := q.Client.As16()
		n += copy(in[n:], a[:])
	}
	return siphash.Hash(s.Secret[0], s.Secret[1], in[:n])
}

// Verify checks whether the client has a valid server cookie for its address, which proves
// that it receives packets there.
func (s *Server) Verify(q *Query) {
	c := &q.cookie
	if q.cookieLength != cookieSize || c[8] != 1 {
		return
	}
	age := int64(uint32(time.Now().Unix()) - binary.BigEndian.Uint32(c[12:]))
	if int32(age) > cookieAge || int32(age) < -cookieEarly {
		return
	}
	if binary.LittleEndian.Uint64(c[16:]) == s.sign(c[:16], q) {
		q.Verified = true
	}
}
