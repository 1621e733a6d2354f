package link

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"runtime/debug"
	"slices"
	"syscall"
	"time"

	"github.com/sluicelb/sluice/core/shm"
)

// Handler is the engine behind the channel. Its methods are never called at
// the same time.
type Handler interface {
	// Hello describes the engine to a new connection.
	Hello() Hello
	// Publish loads the snapshot and answers what came of it. The snapshot is
	// closed after it returns; opened holds listeners by key, which belong to
	// the handler, whatever it answers. A panic is answered as a refusal.
	Publish(snapshot *os.File, opened map[string][]*os.File) Ack
}

// Serve lets processes of the allowed users, one at a time, control the engine
// h through l ("unixpacket"), until ctx ends; without allowed users only the
// one this process runs as. It closes l, waits for a Publish under way and
// returns nil when ctx ended, else the error that broke l.
//
// No client can end or block it: what is wrong with a connection is logged and
// closes that connection.
func Serve(ctx context.Context, l *net.UnixListener, h Handler, allowed ...uint32) error {
	if len(allowed) == 0 {
		allowed = []uint32{uint32(os.Geteuid())}
	}
	defer l.Close()
	defer context.AfterFunc(ctx, func() { l.Close() })()
	var current *session
	defer func() { current.end() }()
	for {
		c, err := l.AcceptUnix()
		switch {
		case ctx.Err() != nil:
			if err == nil {
				c.Close()
			}
			return nil
		case err != nil && passing(err):
			select { // no descriptors or memory left: others may give some back
			case <-ctx.Done():
			case <-time.After(50 * time.Millisecond):
			}
			continue
		case err != nil:
			return fmt.Errorf("accept control connection: %w", err)
		}
		if err := admit(c, allowed); err != nil {
			slog.Warn("control connection refused", "error", err)
			c.Close()
			continue
		}
		current.end()
		current = begin(c, h)
	}
}

func passing(err error) bool {
	return slices.ContainsFunc([]error{
		syscall.EMFILE, syscall.ENFILE, syscall.ENOBUFS, syscall.ENOMEM, syscall.ECONNABORTED, syscall.EINTR,
	}, func(e error) bool { return errors.Is(err, e) })
}

func admit(c *net.UnixConn, allowed []uint32) error {
	uid, pid, err := shm.PeerUID(c)
	if err != nil {
		return err
	}
	if !slices.Contains(allowed, uid) {
		return fmt.Errorf("%w: process %d of user %d, allowed are %d", ErrDenied, pid, uid, allowed)
	}
	return nil
}

// session is one connection and the goroutine that serves it.
type session struct {
	wire *wire
	h    Handler
	done chan struct{}
}

func begin(c *net.UnixConn, h Handler) *session {
	s := &session{wire: newWire(c), h: h, done: make(chan struct{})}
	go s.run()
	return s
}

// end closes the connection and waits until nothing uses the handler.
func (s *session) end() {
	if s == nil {
		return
	}
	s.wire.conn.Close()
	<-s.done
}

func (s *session) run() {
	defer close(s.done)
	defer s.wire.conn.Close()
	err := s.serve()
	if errors.Is(err, ErrGone) || errors.Is(err, net.ErrClosed) { // mgmt restarts, or was replaced
		slog.Debug("control connection ended", "error", err)
		return
	}
	slog.Warn("control connection closed", "error", err)
}

func (s *session) serve() error {
	hello := s.h.Hello()
	if err := s.wire.write(&message{Hello: &hello}, nil); err != nil {
		return fmt.Errorf("send hello: %w", err)
	}
	for {
		m, files, err := s.wire.read()
		if err != nil {
			return err
		}
		if m.Publish == nil {
			closeAll(files)
			return fmt.Errorf("%w: only publications are expected", ErrProtocol)
		}
		snapshot, opened, err := m.Publish.split(files)
		if err != nil {
			closeAll(files)
			return err
		}
		ack := s.publish(snapshot, opened)
		if err := s.wire.write(&message{Ack: &ack}, nil); err != nil {
			return fmt.Errorf("send ack of generation %d: %w", ack.Generation, err)
		}
	}
}

// publish calls the handler. Its panic must not take the traffic with it.
func (s *session) publish(snapshot *os.File, opened map[string][]*os.File) (ack Ack) {
	defer snapshot.Close()
	defer func() {
		if p := recover(); p != nil {
			slog.Error("publication failed", "panic", p, "stack", string(debug.Stack()))
			ack = Ack{Generation: s.h.Hello().Generation, Refused: fmt.Sprintf("internal error: %v", p)}
		}
	}()
	return s.h.Publish(snapshot, opened)
}
