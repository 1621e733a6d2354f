package wire

import (
	"encoding/binary"
	"time"

	"github.com/dchest/siphash"
)

const (
	maxNSID    = 64
	cookieSize = 24 // of the client 8, of the server 16
)

// Server is what answers say of the server.
type Server struct {
	NSID string // at most 64 bytes
	// Secret is what cookies of servers are made with (RFC 9018 §4.2).
	Secret [2]uint64
}

// edns appends the record of EDNS.
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

// block is what the length of an encrypted answer is a multiple of, so that it tells
// little of what is in it (RFC 8467 §4.1).
const block = 468

// pad fills the message up to a whole number of blocks, if it may be that long.
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

// subnet repeats the net of the client, with how much of it the answer depends on.
func (r *Reply) subnet(q *Query) {
	n := int(q.source+7) / 8
	r.option(optSubnet, 4+n)
	r.Msg = append(r.Msg, byte(q.family>>8), byte(q.family), q.source, r.Scope)
	if q.family == 1 {
		a := q.Subnet.Addr().As4()
		r.Msg = append(r.Msg, a[:n]...)
		return
	}
	a := q.Subnet.Addr().As16()
	r.Msg = append(r.Msg, a[:n]...)
}

// Cookies of servers are good for an hour, and for five minutes before their time, as
// clocks of servers that share a secret differ (RFC 9018 §4.3).
const (
	cookieAge   = 3600
	cookieEarly = 300
)

// cookie sends the client's cookie back with one of ours.
func (r *Reply) cookie(q *Query, s *Server) {
	r.option(optCookie, cookieSize)
	var c [cookieSize]byte
	copy(c[:8], q.cookie[:8])
	c[8] = 1 // version
	binary.BigEndian.PutUint32(c[12:], uint32(time.Now().Unix()))
	binary.LittleEndian.PutUint64(c[16:], s.sign(c[:16], q))
	r.Msg = append(r.Msg, c[:]...)
}

// sign is the hash of the first 16 bytes of a cookie and the address of the client.
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

// Verify finds out whether the client has a cookie of ours for its address, which it
// has only if what is sent there comes to it.
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
