package link

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"time"

	"github.com/sluicelb/sluice/core/shm"
)

const (
	protocol    = 1
	frameHeader = 2
	maxPiece    = shm.MaxMessage - frameHeader
)

// messageTimeout bounds the time from the first to the last frame of a message, and the
// wait for socket buffer space. It is a variable for tests only.
var messageTimeout = 5 * time.Second

// wire sends and receives messages over one connection. One goroutine may read while
// another writes; there must be one writer at a time.
type wire struct {
	conn *net.UnixConn
	buf  []byte // frame buffer of the reader
}

func newWire(c *net.UnixConn) *wire {
	return &wire{conn: c, buf: make([]byte, shm.MaxMessage)}
}

// write sends one message with its descriptors, which remain the caller's. After an
// error other than ErrTooLarge the connection is unusable.
func (w *wire) write(m *message, files []*os.File) error {
	return w.writeWithin(messageTimeout, m, files)
}

// writeWithin is write with a different timeout for the first frame. If that expires it
// returns os.ErrDeadlineExceeded and the connection is unchanged. Further frames have
// messageTimeout.
func (w *wire) writeWithin(patience time.Duration, m *message, files []*os.File) error {
	body, err := encode(m)
	if err != nil {
		return err
	}
	if err := w.conn.SetWriteDeadline(time.Now().Add(patience)); err != nil {
		return err
	}
	frame := make([]byte, 0, min(len(body), maxPiece)+frameHeader)
	for first := true; ; first = false {
		piece, some := body[:min(len(body), maxPiece)], files[:min(len(files), shm.MaxFiles)]
		body, files = body[len(piece):], files[len(some):]
		more := byte(0)
		if len(body) > 0 || len(files) > 0 {
			more = 1
		}
		frame = append(append(frame[:0], protocol, more), piece...)
		switch err := shm.Send(w.conn, frame, some...); {
		case errors.Is(err, os.ErrDeadlineExceeded) && !first:
			return fmt.Errorf("%w: the other side has stopped reading in the middle of a message", ErrProtocol)
		case err != nil:
			return err
		case more == 0:
			return nil
		}
		if first {
			if err := w.conn.SetWriteDeadline(time.Now().Add(messageTimeout)); err != nil {
				return err
			}
		}
	}
}

// read waits for a message, indefinitely for its first frame and messageTimeout for its
// end. The caller owns the files. With an error there are none, as received ones are
// closed. It returns ErrGone if the peer closed the connection between messages.
func (w *wire) read() (m *message, files []*os.File, err error) {
	defer func() {
		if err != nil {
			closeAll(files)
			files = nil
		}
	}()
	if err := w.conn.SetReadDeadline(time.Time{}); err != nil {
		return nil, nil, err
	}
	var body []byte
	for first := true; ; first = false {
		n, some, err := shm.Receive(w.conn, w.buf)
		if err != nil {
			return nil, files, readError(err, !first)
		}
		files = append(files, some...)
		if n < frameHeader || w.buf[0] != protocol || w.buf[1] > 1 {
			return nil, files, fmt.Errorf("%w: a frame of %d bytes begins %#x, this program speaks protocol %d", ErrProtocol, n, w.buf[:min(n, frameHeader)], protocol)
		}
		body = append(body, w.buf[frameHeader:n]...)
		switch more := w.buf[1] == 1; {
		case len(body) > maxBody || len(files) > maxFiles:
			return nil, files, fmt.Errorf("%w: more than %d bytes or %d descriptors", ErrProtocol, maxBody, maxFiles)
		case !more:
			m, err := decode(body)
			return m, files, err
		case n == frameHeader && len(some) == 0: // otherwise a message might never end
			return nil, files, fmt.Errorf("%w: an empty frame", ErrProtocol)
		case first: // one timeout for all further frames
			if err := w.conn.SetReadDeadline(time.Now().Add(messageTimeout)); err != nil {
				return nil, files, err
			}
		}
	}
}

func readError(err error, begun bool) error {
	switch {
	case errors.Is(err, io.EOF) && begun:
		return fmt.Errorf("%w: in the middle of a message", ErrGone)
	case errors.Is(err, io.EOF):
		return ErrGone
	case errors.Is(err, shm.ErrTruncated): // too many for the protocol, or this process is out of descriptors
		return fmt.Errorf("%w: %w", ErrProtocol, err)
	case errors.Is(err, os.ErrDeadlineExceeded):
		return fmt.Errorf("%w: it did not come to its end in %s", ErrProtocol, messageTimeout)
	}
	return fmt.Errorf("%w: %w", ErrGone, err)
}

func closeAll(files []*os.File) {
	for _, f := range files {
		f.Close()
	}
}
