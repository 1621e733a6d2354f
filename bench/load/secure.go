package load

import (
	"bytes"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"iter"
	"net"
	"syscall"
	"time"

	"github.com/sluicelb/sluice/bench/poll"
)

// TLS says how a load speaks TLS: version 1.3, X25519 and AES-128-GCM for every
// contestant alike. A handshake that agrees on anything else is an error.
type TLS struct {
	// Leaf is the certificate every server must show, DER.
	Leaf []byte `json:"leaf"`
	// Resume makes every handshake after the warm-up a resumed one: each
	// connection uses the newest ticket its predecessor in the same slot was
	// given. Otherwise no tickets are asked for and every handshake is a full one.
	Resume bool `json:"resume,omitempty"`
}

// The errors of handshakes.
var (
	errTLS         = errors.New("TLS failed")
	errAgreed      = errors.New("handshake agreed on something else than TLS 1.3 with X25519 and AES-128-GCM")
	errCertificate = errors.New("server shows another certificate than the one it was given")
	errResumed     = errors.New("handshake was resumed and should be a full one")
	errFull        = errors.New("handshake was a full one and should be resumed")
)

// config makes the configuration of one connection slot; slots share nothing,
// so that each has tickets of its own.
func (t *TLS) config(host string) *tls.Config {
	c := &tls.Config{
		ServerName: host,
		MinVersion: tls.VersionTLS13, MaxVersion: tls.VersionTLS13,
		CurvePreferences: []tls.CurveID{tls.X25519},
		// check compares the certificate byte by byte, which is both cheaper and
		// stricter. The server's signature is verified all the same.
		InsecureSkipVerify: true,
	}
	if t.Resume {
		c.ClientSessionCache = &ticket{}
	}
	return c
}

// check judges a complete handshake.
func (t *TLS) check(s tls.ConnectionState, resumed bool) error {
	switch {
	case s.Version != tls.VersionTLS13 || s.CipherSuite != tls.TLS_AES_128_GCM_SHA256 || s.CurveID != tls.X25519:
		return fmt.Errorf("%w: %s, %s, %s", errAgreed, tls.VersionName(s.Version), s.CurveID, tls.CipherSuiteName(s.CipherSuite))
	case s.DidResume && !resumed:
		return errResumed
	case !s.DidResume && resumed:
		return errFull
	case len(s.PeerCertificates) == 0 || !bytes.Equal(s.PeerCertificates[0].Raw, t.Leaf):
		return errCertificate
	}
	return nil
}

// ticket is the session cache of one slot: the newest ticket and no other.
type ticket struct{ state *tls.ClientSessionState }

func (t *ticket) Get(string) (*tls.ClientSessionState, bool) { return t.state, t.state != nil }

func (t *ticket) Put(_ string, s *tls.ClientSessionState) {
	if s != nil {
		t.state = s
	}
}

// session is the TLS of one connection. crypto/tls runs a handshake in one go,
// so it runs in a coroutine, which is parked whenever the socket is dry; after
// that a dry socket is a temporary error, which crypto/tls forgets.
type session struct {
	fd       int
	tls      *tls.Conn
	unsent   []byte // ciphertext the socket did not take yet
	dry      bool   // nothing can be read before the next event
	ending   bool   // the end of the connection was reported: a short read proves nothing
	notified bool   // the peer said that it is done; only its FIN is still to come
	ended    bool   // the FIN was read
	step     func() (struct{}, bool)
	stop     func()
	park     func(struct{}) bool // nil once the handshake is over
	err      error               // of the handshake
}

func newSession(fd int, config *tls.Config) *session {
	s := &session{fd: fd, dry: true}
	s.tls = tls.Client((*wire)(s), config)
	s.step, s.stop = iter.Pull(func(yield func(struct{}) bool) {
		s.park = yield
		s.err = s.tls.Handshake()
		s.park = nil
	})
	return s
}

// shake goes on with the handshake until it needs more bytes or is over.
func (s *session) shake() (over bool, err error) {
	if _, parked := s.step(); parked {
		return false, nil
	}
	return true, s.err
}

// read returns plaintext, errDry, or io.EOF once the connection has ended,
// whether or not the peer announced that.
func (s *session) read(b []byte) (int, error) {
	for !s.notified {
		n, err := s.tls.Read(b)
		if err != io.EOF && err != io.ErrUnexpectedEOF {
			return n, err
		}
		if s.ended {
			return 0, io.EOF
		}
		s.notified = true
	}
	for {
		if _, err := (*wire)(s).Read(b); err != nil {
			return 0, err
		}
	}
}

// flush sends what the socket did not take before.
func (s *session) flush() error {
	n, errno := poll.Send(s.fd, s.unsent)
	if errno == syscall.EAGAIN {
		return nil
	}
	if errno != 0 {
		return errno
	}
	s.unsent = s.unsent[n:]
	return nil
}

// wire is the side of a session that crypto/tls sees.
type wire session

// dryError is temporary in the sense of net.Error.
type dryError struct{}

func (dryError) Error() string   { return "nothing to read now" }
func (dryError) Timeout() bool   { return true }
func (dryError) Temporary() bool { return true }

var (
	errDry     net.Error = dryError{}
	errStopped           = errors.New("handshake was given up")
)

func (w *wire) Read(b []byte) (int, error) {
	for {
		if w.dry {
			if w.park == nil {
				return 0, errDry
			}
			if !w.park(struct{}{}) {
				return 0, errStopped
			}
			continue
		}
		n, errno := poll.Recv(w.fd, b, 0)
		switch {
		case errno == syscall.EAGAIN:
			w.dry = true
		case errno != 0:
			return 0, errno
		case n == 0:
			w.ended = true
			return 0, io.EOF
		default:
			w.dry = n < len(b) && !w.ending
			return n, nil
		}
	}
}

// Write never fails for want of room: crypto/tls could not go on after that.
func (w *wire) Write(b []byte) (int, error) {
	sent := 0
	if len(w.unsent) == 0 {
		n, errno := poll.Send(w.fd, b)
		if errno != 0 && errno != syscall.EAGAIN {
			return 0, errno
		}
		sent = max(n, 0)
	}
	w.unsent = append(w.unsent, b[sent:]...)
	return len(b), nil
}

func (*wire) Close() error                     { return nil }
func (*wire) LocalAddr() net.Addr              { return &net.TCPAddr{} }
func (*wire) RemoteAddr() net.Addr             { return &net.TCPAddr{} }
func (*wire) SetDeadline(time.Time) error      { return nil }
func (*wire) SetReadDeadline(time.Time) error  { return nil }
func (*wire) SetWriteDeadline(time.Time) error { return nil }
