package loop

import (
	"bytes"
	"errors"
)

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
	s.lend()
	n, err := s.records(p)
	more := s.takeBack(n == len(p))
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

// records fills p with plaintext until the socket is dry.
func (s *secured) records(p []byte) (n int, err error) {
	for n < len(p) && err == nil {
		s.want = len(p) - n
		var m int
		m, err = s.tls.Read(p[n:])
		n += m
		if inside.found && s.conn.flags&flagWet == 0 && rawOf(s.tls).Len() == 0 {
			break // one more call would only find that out
		}
	}
	return n, err
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
// reports whether there is more to read without a look at the socket. full says
// that the reader had no room for more than it got.
func (s *secured) takeBack(full bool) bool {
	if !inside.found {
		return full
	}
	buffers := &s.conn.loop.Buffers
	if size := inputOf(s.tls).Len(); size > 0 {
		s.left = buffers.Get(size)[:size]
		n, _ := s.tls.Read(s.left)
		s.left = s.left[:n]
	}
	raw := rawOf(s.tls)
	whole := s.park(raw.Bytes())
	*raw = bytes.Buffer{}
	buffers.Put(s.conn.loop.lent[:0])
	return whole || s.left != nil
}

// park keeps b, ciphertext from a record's header on, and reports whether it
// holds a whole record.
func (s *secured) park(b []byte) bool {
	if len(b) == 0 {
		return false
	}
	s.rest = append(s.conn.loop.Buffers.Get(len(b)), b...)
	return len(b) >= 5 && len(b) >= 5+int(b[3])<<8+int(b[4])
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
