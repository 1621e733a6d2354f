package loop

import (
	"bytes"
	"errors"
	"io"
)

const (
	recordHeader = 5            // RFC 8446, section 5.1
	recordMost   = 16384 + 2048 // RFC 5246, section 6.2.3; less since TLS 1.3
)

// recordsPerRead bounds the records opened by one Read. It is four times the number of
// full records in 256 KiB. The worst case, records of one byte between key updates,
// takes a few milliseconds.
const recordsPerRead = 64

// answersMost bounds the output that waits for a peer that requests responses (e.g.
// KeyUpdate) without reading them.
const answersMost = 16 << 10

// errAnswers ends the connection of such a peer.
var errAnswers = errors.New("tls: peer asks for answers and takes none")

// unseal is Conn.Read for a secure connection. It opens as many records as are
// available and fit p.
func (s *secured) unseal(p []byte) (int, error) {
	c := s.conn
	switch {
	case s.left != nil:
		return s.takeLeft(p), nil
	case s.fail != nil:
		return 0, s.fail
	case c.flags&flagReadable == 0, s.shake != nil:
		return 0, c.dry()
	}
	c.loop.sealed = c.loop.sealed[:0] // a panic may have left bytes
	s.lend()
	n, err := s.records(p)
	more := s.takeBack() || !inside.found && err == nil
	if len(c.loop.sealed) != 0 {
		err = s.answer(err)
	}
	if err != nil && err != errPassing {
		s.fail = err
	}
	if more || s.fail != nil || c.flags&flagWet != 0 {
		c.flags |= flagReadable
	} else {
		c.flags &^= flagReadable
	}
	switch {
	case n > 0:
		return n, nil
	case s.fail != nil:
		return 0, s.fail
	}
	return 0, ErrDry
}

// records fills p with plaintext until the socket is dry or recordsPerRead is reached.
func (s *secured) records(p []byte) (n int, err error) {
	for share := recordsPerRead; n < len(p) && err == nil && share > 0; {
		s.want = len(p) - n
		if inside.found && !whole(rawOf(s.tls).Bytes()) {
			// crypto/tls itself would allocate for each recv.
			err = s.refill()
			continue
		}
		var m int
		m, err = s.tls.Read(p[n:])
		n += m
		share--
	}
	return n, err
}

// refill reads ciphertext into the lent buffer, after the bytes of a partial record.
// The plaintext that lay in it has been read.
func (s *secured) refill() error {
	raw, lent := rawOf(s.tls), s.conn.loop.lent
	have := copy(lent[:cap(lent)], raw.Bytes())
	space := lent[have:cap(lent)]
	n, err := s.recv(space[:min(len(space), max(s.want, recvLeast))])
	if err == io.EOF && have > 0 {
		err = io.ErrUnexpectedEOF // RFC 8446, section 6.1: end within a record
	}
	*raw = *bytes.NewBuffer(lent[:have+n])
	return err
}

// whole reports whether b begins with a record that crypto/tls can open or must reject
// as too long.
func whole(b []byte) bool {
	if len(b) < recordHeader {
		return false
	}
	size := int(b[3])<<8 + int(b[4])
	return len(b) >= recordHeader+size || size > recordMost
}

// lend gives crypto/tls a buffer to read into. It begins with the bytes of a partial
// record.
func (s *secured) lend() {
	if !inside.found {
		return
	}
	buffers := &s.conn.loop.Buffers
	b := append(buffers.Get(recvMost), s.rest...)
	if s.rest != nil {
		buffers.Put(s.rest)
		s.rest = nil
	}
	s.conn.loop.lent = b
	*rawOf(s.tls) = *bytes.NewBuffer(b)
}

// takeBack takes the lent buffer back and copies its remaining bytes to smaller ones.
// It reports whether more can be read without a system call.
func (s *secured) takeBack() bool {
	if !inside.found {
		return false
	}
	buffers := &s.conn.loop.Buffers
	if size := inputOf(s.tls).Len(); size > 0 {
		s.left = buffers.Get(size)[:size]
		n, err := s.tls.Read(s.left)
		s.left = s.left[:n]
		if err != nil && err != errPassing {
			s.fail = err // the end that followed immediately
		}
	}
	raw := rawOf(s.tls)
	more := whole(raw.Bytes()) || s.left != nil
	s.park(raw.Bytes())
	*raw = bytes.Buffer{}
	if hand := handOf(s.tls); hand.Cap() != 0 && hand.Len() == 0 {
		*hand = bytes.Buffer{} // a ticket or KeyUpdate was handled
	}
	buffers.Put(s.conn.loop.lent[:0])
	s.conn.loop.lent = nil
	return more
}

// park keeps b, the ciphertext of incomplete records.
func (s *secured) park(b []byte) {
	if len(b) != 0 {
		s.rest = append(s.conn.loop.Buffers.Get(len(b)), b...)
	}
}

// takeLeft copies plaintext that did not fit the buffer of an earlier read.
func (s *secured) takeLeft(p []byte) int {
	n := copy(p, s.left[s.read:])
	if s.read += n; s.read == len(s.left) {
		s.conn.loop.Buffers.Put(s.left)
		s.left, s.read = nil, 0
	}
	return n
}

// answer sends output of crypto/tls caused by reading: an alert or a KeyUpdate that the
// peer requested. It returns err, or errAnswers if the peer does not read.
func (s *secured) answer(err error) error {
	c := s.conn
	if len(c.out) == 0 {
		s.answers = 0
	} else if s.answers += len(c.loop.sealed); s.answers > answersMost {
		c.loop.sealed = c.loop.sealed[:0]
		return errAnswers
	}
	_ = c.push(0) // the next read reports a broken connection
	return err
}
