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
	// markRate bounds marked sockets per second, with a burst of markBurst. That is far
	// more than an engine uses, and little work if the engine is compromised. Each
	// request costs markRequest sockets extra.
	markRate, markBurst, markRequest = 50_000, 20_000, 8
	// markPatience bounds the wait for send buffer space. The engine sends one request at
	// a time, so space is missing only if it does not read.
	markPatience = 100 * time.Millisecond
	// nonsensePause delays the next message after an invalid one. nonsenseLines is the
	// minimum interval of log lines about them.
	nonsensePause = 10 * time.Millisecond
	nonsenseLines = 10 * time.Second
)

// ServeMarks makes unconnected TCP and UDP sockets with a mark for the engine at the
// other end of c, until ctx ends. The engine faces the internet and may be compromised.
// It therefore gets only published kinds, at a bounded rate.
//
// Malformed messages get no reply. They are counted in the log, as are requests for
// unpublished kinds. Sockets that the engine already has cannot be revoked, but ServeMarks
// refuses further ones of a kind that mgmt has withdrawn. The other end outlives the engine,
// so only ctx ends ServeMarks.
func ServeMarks(ctx context.Context, c *net.UnixConn, published *marks.Published, log *slog.Logger) {
	defer context.AfterFunc(ctx, func() { _ = c.Close() })()
	m := &marker{conn: c, published: published, version: unread, log: log, room: markBurst, filled: time.Now()}
	buf := make([]byte, marks.MessageSize+1)
	for ctx.Err() == nil {
		n, fds, err := shm.ReceiveDescriptors(c, buf)
		carried := len(fds) > 0 // requests carry no descriptors
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

// marker is the state of ServeMarks, owned by its goroutine.
type marker struct {
	conn      *net.UnixConn
	published *marks.Published
	needs     map[marks.Kind]bool // the published kinds
	version   uint64              // version of needs

	log    *slog.Logger
	room   float64   // sockets that may be made now
	filled time.Time // time at which room was computed
	silly  int       // rejected messages since the last log line
	said   time.Time // time of that log line
	buf    [marks.MessageSize]byte
	cannot marks.Code // last code logged
}

// pace waits until count sockets may be made. It returns false if ctx ends first.
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

// unread differs from every version of a readable list.
const unread = 1

// needed reports whether mgmt has published the kind. While mgmt writes, or if it died
// while writing, the previous list applies.
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

// ungranted counts and delays a malformed message or a request for an unpublished kind.
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

// answer makes the sockets and sends them. If sending fails it closes them, and the
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

// makeMarked returns count sockets, or none and the code.
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

// distinguish sets the option that the engine may not set: SO_MARK or IP_TRANSPARENT.
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
