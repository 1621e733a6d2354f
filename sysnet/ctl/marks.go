package ctl

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"time"

	"golang.org/x/sys/unix"

	"github.com/sluicelb/sluice/core/marks"
	"github.com/sluicelb/sluice/core/shm"
)

const (
	// markRate bounds the marked sockets made in a second, over a burst of
	// markBurst: far more than an engine uses, and little enough work for one
	// that was captured. Each request counts as markRequest sockets more.
	markRate, markBurst, markRequest = 50_000, 20_000, 8
	// markPatience is how long an answer may find no room: the engine asks for
	// one after the other, so there is room unless nobody reads.
	markPatience = 100 * time.Millisecond
	// nonsensePause slows down who sends nonsense, nonsenseLines is the time
	// between two lines about it.
	nonsensePause = 10 * time.Millisecond
	nonsenseLines = 10 * time.Second
)

// ServeMarks makes unconnected TCP and UDP sockets that have a mark for the engine at
// the other end of c, until ctx ends. The engine faces the internet and may be
// captured: it gets the published kinds and nothing else, at a bounded rate,
// whatever it sends. What is no request is not answered, and counted in the log
// like requests for other kinds. What the engine got cannot be taken from it: a
// kind that is not published any more is not made again. The other end outlives
// the engine, so nothing ends this but ctx.
func ServeMarks(ctx context.Context, c *net.UnixConn, published *marks.Published, log *slog.Logger) {
	defer context.AfterFunc(ctx, func() { _ = c.Close() })()
	m := &marker{conn: c, published: published, version: unread, log: log, room: markBurst, filled: time.Now()}
	buf := make([]byte, marks.MessageSize+1)
	for ctx.Err() == nil {
		n, fds, err := shm.ReceiveDescriptors(c, buf)
		carried := len(fds) > 0 // no request carries any
		shm.CloseDescriptors(fds)
		var r marks.Request
		if err == nil {
			r, err = marks.ParseRequest(buf[:n])
		}
		switch {
		case ctx.Err() != nil:
		case err != nil || carried:
			m.ungranted(ctx, err)
		case !m.needed(r.Kind):
			m.ungranted(ctx, fmt.Errorf("%v: %w", r.Kind, marks.ErrUnneeded))
			m.send(r, nil, marks.Unneeded)
		case m.pace(ctx, r.Count+markRequest):
			m.answer(r)
		}
	}
}

// marker serves one engine; one goroutine owns it.
type marker struct {
	conn      *net.UnixConn
	published *marks.Published
	needs     map[marks.Kind]bool // what was published
	version   uint64              // to which needs belong

	log    *slog.Logger
	room   float64   // sockets that may be made now
	filled time.Time // when room was computed
	silly  int       // messages that got nothing, since the last line about them
	said   time.Time // when that was
	buf    [marks.MessageSize]byte
	cannot marks.Code // what was said in the log of not being able to
}

// pace waits until that many sockets may be made; false when ctx ends first.
func (m *marker) pace(ctx context.Context, count int) bool {
	for {
		now := time.Now()
		m.room = min(markBurst, m.room+now.Sub(m.filled).Seconds()*markRate)
		m.filled = now
		if m.room >= float64(count) {
			m.room -= float64(count)
			return true
		}
		if !sleep(ctx, time.Millisecond) {
			return false
		}
	}
}

func sleep(ctx context.Context, d time.Duration) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(d):
		return true
	}
}

// unread is no version of a list that can be read.
const unread = 1

// needed reports whether a farm in force needs sockets of the kind. While mgmt
// writes, and if it died over that, what it wrote before counts.
func (m *marker) needed(k marks.Kind) bool {
	if m.published.Version() != m.version {
		if kinds, version, ok := m.published.List(); ok {
			m.needs, m.version = map[marks.Kind]bool{}, version
			for _, k := range kinds {
				m.needs[k] = true
			}
		}
	}
	return m.needs[k]
}

// ungranted notes a message that is no request, or asks for what nobody needs.
func (m *marker) ungranted(ctx context.Context, err error) {
	m.silly++
	if now := time.Now(); now.Sub(m.said) >= nonsenseLines {
		if errors.Is(err, io.EOF) {
			err = errors.New("empty message")
		}
		m.log.Warn("the engine asks for sockets it does not get", "messages", m.silly, "last", err)
		m.silly, m.said = 0, now
	}
	sleep(ctx, nonsensePause)
}

// answer makes the sockets and sends them. What cannot be sent is closed: the
// engine asks again.
func (m *marker) answer(r marks.Request) {
	fds, code := makeMarked(r.Kind, r.Count)
	defer shm.CloseDescriptors(fds)
	if code != m.cannot {
		m.cannot = code
		if code != marks.Made {
			m.log.Warn("sockets with a mark cannot be made", "kind", r.Kind.String(), "cause", code.String())
		}
	}
	m.send(r, fds, code)
}

func (m *marker) send(r marks.Request, fds []int, code marks.Code) {
	_ = m.conn.SetWriteDeadline(time.Now().Add(markPatience))
	a := marks.Answer{Number: r.Number, Kind: r.Kind, Code: code, Count: len(fds)}
	if err := shm.SendDescriptors(m.conn, a.AppendTo(m.buf[:0]), fds); err != nil {
		m.log.Debug("marked sockets not sent", "error", err)
	}
}

// makeMarked makes count sockets, or none.
func makeMarked(k marks.Kind, count int) (fds []int, code marks.Code) {
	family := unix.AF_INET
	if k.V6 {
		family = unix.AF_INET6
	}
	sort, protocol := unix.SOCK_STREAM, unix.IPPROTO_TCP
	if k.UDP {
		sort, protocol = unix.SOCK_DGRAM, unix.IPPROTO_UDP
	}
	for range count {
		fd, err := unix.Socket(family, sort|unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, protocol)
		if err == nil {
			fds = append(fds, fd)
			err = distinguish(fd, k)
		}
		if err != nil {
			shm.CloseDescriptors(fds)
			return nil, markCode(err)
		}
	}
	return fds, marks.Made
}

// distinguish gives a socket what the engine may not give it.
func distinguish(fd int, k marks.Kind) error {
	switch {
	case k.Mark != marks.Transparent:
		return unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_MARK, int(k.Mark))
	case k.V6:
		return unix.SetsockoptInt(fd, unix.SOL_IPV6, unix.IPV6_TRANSPARENT, 1)
	}
	return unix.SetsockoptInt(fd, unix.SOL_IP, unix.IP_TRANSPARENT, 1)
}

func markCode(err error) marks.Code {
	switch {
	case errors.Is(err, unix.EPERM), errors.Is(err, unix.EACCES):
		return marks.NotPermitted
	case errors.Is(err, unix.EAFNOSUPPORT):
		return marks.NoFamily
	case errors.Is(err, unix.EMFILE), errors.Is(err, unix.ENFILE):
		return marks.TooMany
	}
	return marks.Failed
}
