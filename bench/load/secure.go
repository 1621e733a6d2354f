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

// TLS holds the TLS parameters of a load. All contestants use TLS 1.3, X25519 and
// AES-128-GCM; any other result of a handshake is an error.
type TLS struct {
	// Leaf is the certificate that every server must present, DER.
	Leaf []byte `json:"leaf"`
	// Resume makes every handshake after the warm-up a resumed one: each connection uses
	// the newest ticket of its predecessor in the slot. Otherwise no tickets are
	// requested and every handshake is a full one.
	Resume bool `json:"resume,omitempty"`
}

// Errors of handshakes.
var (
	errTLS         = errors.New("TLS failed")
	errAgreed      = errors.New("handshake agreed on something else than TLS 1.3 with X25519 and AES-128-GCM")
	errCertificate = errors.New("server shows another certificate than the one it was given")
	errResumed     = errors.New("handshake was resumed and should be a full one")
	errFull        = errors.New("handshake was a full one and should be resumed")
)

// config returns the configuration of one connection slot. Each slot has its own tickets.
func (t *TLS) config(host string) *tls.Config {
	c := &tls.Config{
		ServerName: host,
		MinVersion: tls.VersionTLS13, MaxVersion: tls.VersionTLS13,
		CurvePreferences: []tls.CurveID{tls.X25519},
		// check compares the certificate byte by byte, which is cheaper and stricter. The
		// signature of the server is still verified.
		InsecureSkipVerify: true,
	}
	if t.Resume {
		c.ClientSessionCache = &ticket{}
	}
	return c
}

// check validates a complete handshake.
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

// ticket is the session cache of one slot, which holds only the newest ticket.
type ticket struct{ state *tls.ClientSessionState }

func (t *ticket) Get(string) (*tls.ClientSessionState, bool) { return t.state, t.state != nil }

func (t *ticket) Put(_ string, s *tls.ClientSessionState) {
	if s != nil {
		t.state = s
	}
}

// session is the TLS state of one connection. crypto/tls blocks in a handshake, so it
// runs in a coroutine, which is parked when the socket is drained. Afterwards a drained
// socket is a temporary error, which crypto/tls does not store.
type session struct {
	fd       int
	tls      *tls.Conn
	unsent   []byte // ciphertext not yet accepted by the socket
	dry      bool   // nothing can be read before the next event
	ending   bool   // the end of the connection was reported, so a short read does not mean drained
	notified bool   // close_notify received; only the FIN is missing
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

// shake continues the handshake until it needs more bytes or is complete.
func (s *session) shake() (over bool, err error) {
	if _, parked := s.step(); parked {
		return false, nil
	}
	return true, s.err
}

// read returns plaintext, errDry, or io.EOF after the end of the connection, with or
// without close_notify.
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

// flush sends pending ciphertext.
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

// wire is the net.Conn of a session for crypto/tls.
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

// Write buffers unsent bytes, because crypto/tls cannot continue after a write error.
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
