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

// recordsPerRead bounds what one Read may take of a turn: four times what is
// needed to fill 256 KiB with full records, and a few milliseconds at the worst,
// which is records of one byte between changes of keys.
const recordsPerRead = 64

// answersMost bounds what waits for a peer that asks for answers (new keys)
// and takes none.
const answersMost = 16 << 10

// errAnswers ends the connection of such a peer.
var errAnswers = errors.New("tls: peer asks for answers and takes none")

// unseal is Read for a secure connection: as many records as fit p and are
// there.
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
	c.loop.sealed = c.loop.sealed[:0] // a panic may have left something
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

// records fills p with plaintext until the socket is dry or a read has had its
// share.
func (s *secured) records(p []byte) (n int, err error) {
	for share := recordsPerRead; n < len(p) && err == nil && share > 0; {
		s.want = len(p) - n
		if inside.found && !whole(rawOf(s.tls).Bytes()) {
			// crypto/tls would do it with an allocation for each recv.
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

// refill reads ciphertext into the lent buffer, behind what has come of a
// record; all plaintext in it has been read.
func (s *secured) refill() error {
	raw, lent := rawOf(s.tls), s.conn.loop.lent
	have := copy(lent[:cap(lent)], raw.Bytes())
	space := lent[have:cap(lent)]
	n, err := s.recv(space[:min(len(space), max(s.want, recvLeast))])
	if err == io.EOF && have > 0 {
		err = io.ErrUnexpectedEOF // RFC 8446, section 6.1: within a record
	}
	*raw = *bytes.NewBuffer(lent[:have+n])
	return err
}

// whole reports whether b begins with a record crypto/tls can open, or with one
// that is too long to be waited for.
func whole(b []byte) bool {
	if len(b) < recordHeader {
		return false
	}
	size := int(b[3])<<8 + int(b[4])
	return len(b) >= recordHeader+size || size > recordMost
}

// lend gives crypto/tls a buffer to read into, with what has come of a record.
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

// takeBack takes the buffer, and what is left in it into smaller ones. It
// reports whether there is more to read without a look at the socket.
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
			s.fail = err // the end that came right behind
		}
	}
	raw := rawOf(s.tls)
	more := whole(raw.Bytes()) || s.left != nil
	s.park(raw.Bytes())
	*raw = bytes.Buffer{}
	if hand := handOf(s.tls); hand.Cap() != 0 && hand.Len() == 0 {
		*hand = bytes.Buffer{} // there was a ticket or a new key
	}
	buffers.Put(s.conn.loop.lent[:0])
	s.conn.loop.lent = nil
	return more
}

// park keeps b, ciphertext from a record's header on.
func (s *secured) park(b []byte) {
	if len(b) != 0 {
		s.rest = append(s.conn.loop.Buffers.Get(len(b)), b...)
	}
}

// takeLeft reads what did not fit the buffer of an earlier reader.
func (s *secured) takeLeft(p []byte) int {
	n := copy(p, s.left[s.read:])
	if s.read += n; s.read == len(s.left) {
		s.conn.loop.Buffers.Put(s.left)
		s.left, s.read = nil, 0
	}
	return n
}

// answer sends what reading made crypto/tls say: an alert, or new keys because
// the peer wants some.
func (s *secured) answer(err error) error {
	c := s.conn
	if len(c.out) == 0 {
		s.answers = 0
	} else if s.answers += len(c.loop.sealed); s.answers > answersMost {
		c.loop.sealed = c.loop.sealed[:0]
		return errAnswers
	}
	_ = c.push(0) // a broken connection is learned by reading on
	return err
}
