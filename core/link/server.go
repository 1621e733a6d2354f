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
	"sync"
	"syscall"
	"time"

	"github.com/sluicelb/sluice/core/explain"
	"github.com/sluicelb/sluice/core/shm"
	"github.com/sluicelb/sluice/core/stacks"
)

// Handler is the engine's side of the channel. Its methods are never called
// concurrently, with one exception: methods that answer questions may run during
// Publish.
type Handler interface {
	// Hello describes the engine to a new connection.
	Hello() Hello
	// Publish loads the snapshot and returns the result. The snapshot is closed
	// afterwards. opened holds listeners by key, which belong to the handler even after
	// a rejection. A panic counts as a rejection.
	Publish(snapshot *os.File, opened map[string][]*os.File) Ack
	// Sessions returns the number of persistence sessions of a service and at most
	// limit of them, with keys of at most 255 bytes; none for an unknown service. It
	// must return soon, because the next connection waits for it.
	Sessions(service uint32, limit int) (total int, list []Session)
	// Session returns the session of one key; false if there is none.
	Session(service uint32, key []byte) (Session, bool)
	// ChangeSessions makes a change and returns the number of sessions affected. The
	// error is the reason why nothing was changed. It must return soon, like Sessions.
	ChangeSessions(change SessionChange) (changed int, err error)
	// Explain returns how a request would be handled, within the limits of package
	// explain. The error is the reason why it cannot. It must return soon, like
	// Sessions.
	Explain(q explain.Question) (*explain.Explanation, error)
	// Connections returns the number of connections of l4xnat farms to backends (nil
	// means all) and at most limit of them. EndConnections ends them and returns their
	// number. Both must return soon, like Sessions.
	Connections(backends []uint32, limit int) (total int, list []Connection)
	EndConnections(backends []uint32) (ended int)
}

// Serve lets one process at a time control the engine h through l ("unixpacket"), until
// ctx ends. The argument allowed lists the user IDs that may connect; the default is
// the effective user of this process. Serve closes l and waits for a call in progress.
// It returns nil if ctx ended, else the error of l.
//
// No client can end or block it: an error of a connection is logged and closes only
// that connection.
func Serve(ctx context.Context, l *net.UnixListener, h Handler, allowed ...uint32) error {
	if len(allowed) == 0 {
		allowed = []uint32{uint32(os.Geteuid())}
	}
	defer l.Close()
	defer context.AfterFunc(ctx, func() { l.Close() })()
	var current *connection
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
			select { // out of descriptors or memory: others may release some
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

// connection is one connection with two goroutines: one reads and publishes, the other
// answers questions, so that a publication does not wait for a question.
type connection struct {
	wire    *wire
	h       Handler
	writing sync.Mutex // held for one message
	// asked holds the next question while the previous one is being answered.
	asked chan question
	done  chan struct{}
	held  []string // listeners of the last Hello or Ack sent
}

func begin(c *net.UnixConn, h Handler) *connection {
	s := &connection{wire: newWire(c), h: h, asked: make(chan question, 1), done: make(chan struct{})}
	go s.run()
	return s
}

// end closes the connection and waits until the handler is no longer in use.
func (s *connection) end() {
	if s == nil {
		return
	}
	s.wire.conn.Close()
	<-s.done
}

func (s *connection) run() {
	defer close(s.done)
	var answering sync.WaitGroup
	answering.Go(s.answer)
	logEnd(s.serve())
	s.wire.conn.Close() // an answer may wait for buffer space
	close(s.asked)
	answering.Wait()
}

func logEnd(err error) {
	if errors.Is(err, ErrGone) || errors.Is(err, net.ErrClosed) || errors.Is(err, syscall.EPIPE) { // mgmt restarted or was replaced
		slog.Debug("control connection ended", "error", err)
		return
	}
	slog.Warn("control connection closed", "error", err)
}

func (s *connection) serve() error {
	hello := s.h.Hello()
	if err := s.write(&message{Hello: &hello}); err != nil {
		return fmt.Errorf("send hello: %w", err)
	}
	s.held = hello.Listeners
	for {
		m, files, err := s.wire.read()
		if err != nil {
			return err
		}
		switch {
		case m.Publish != nil:
			err = s.publication(m.Publish, files)
		case m.Ask != nil && len(files) == 0:
			err = s.question(*m.Ask)
		default:
			closeAll(files)
			err = fmt.Errorf("%w: only publications and questions are expected", ErrProtocol)
		}
		if err != nil {
			return err
		}
	}
}

func (s *connection) write(m *message) error {
	s.writing.Lock()
	defer s.writing.Unlock()
	return s.wire.write(m, nil)
}

func (s *connection) publication(p *publication, files []*os.File) error {
	snapshot, opened, err := p.split(files)
	if err != nil {
		closeAll(files)
		return err
	}
	ack := s.publish(snapshot, opened)
	m := &message{Ack: &ack, Same: slices.Equal(ack.Listeners, s.held)}
	s.held = ack.Listeners
	if m.Same {
		ack.Listeners = nil
	}
	if err := s.write(m); err != nil {
		return fmt.Errorf("send ack of generation %d: %w", ack.Generation, err)
	}
	return nil
}

// question passes q to the answering goroutine. A client has at most one outstanding
// question, so there is room.
func (s *connection) question(q question) error {
	select {
	case s.asked <- q:
		return nil
	default:
		return fmt.Errorf("%w: too many questions at once", ErrProtocol)
	}
}

// answer answers questions until the channel closes.
func (s *connection) answer() {
	for q := range s.asked {
		a := s.answerTo(&q)
		if err := s.write(&message{Answer: &a}); err != nil {
			logEnd(fmt.Errorf("send answer: %w", err))
			s.wire.conn.Close() // wakes the reader, which ends the connection
		}
	}
}

// answerTo calls the handler and turns its panic into an error.
func (s *connection) answerTo(q *question) (a answer) {
	defer func() {
		if p := recover(); p != nil {
			slog.Error("question failed", "panic", p, "stack", string(debug.Stack()))
			a = answer{Failed: clip(fmt.Sprintf("internal error: %v", p), maxReason)}
		}
	}()
	if q.Explain != nil {
		e, err := s.h.Explain(*q.Explain)
		if err != nil {
			return answer{Refused: clip(err.Error(), maxReason)}
		}
		return answer{Explanation: e}
	}
	if q.Stacks {
		return answer{Text: stacks.Text()}
	}
	if q.Connections != nil {
		return q.Connections.answer(s.h)
	}
	if q.Change != nil {
		changed, err := s.h.ChangeSessions(*q.Change)
		if err != nil {
			return answer{Refused: clip(err.Error(), maxReason)}
		}
		return answer{Total: changed}
	}
	if len(q.Key) > 0 {
		found, ok := s.h.Session(q.Service, q.Key)
		if !ok || q.Limit < 1 {
			return answer{}
		}
		return answer{Total: 1, List: []Session{found}}
	}
	limit := bounded(q.Limit)
	total, list := s.h.Sessions(q.Service, limit)
	list = fitting(list[:min(len(list), limit)])
	return answer{Total: max(total, len(list)), List: list}
}

// publish calls the handler. A panic must not end the engine, which serves traffic.
func (s *connection) publish(snapshot *os.File, opened map[string][]*os.File) (ack Ack) {
	defer snapshot.Close()
	defer func() {
		if p := recover(); p != nil {
			slog.Error("publication failed", "panic", p, "stack", string(debug.Stack()))
			ack = Ack{Generation: s.h.Hello().Generation, Refused: fmt.Sprintf("internal error: %v", p)}
		}
	}()
	return s.h.Publish(snapshot, opened)
}
