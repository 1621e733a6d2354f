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

// Handler is the engine behind the channel. Its methods are never called at
// the same time, but for those that answer questions, which may be called during
// Publish.
type Handler interface {
	// Hello describes the engine to a new connection.
	Hello() Hello
	// Publish loads the snapshot and answers what came of it. The snapshot is
	// closed after it returns; opened holds listeners by key, which belong to
	// the handler, whatever it answers. A panic is answered as a rejection.
	Publish(snapshot *os.File, opened map[string][]*os.File) Ack
	// Sessions tells how many persistence sessions a service has and lists at
	// most limit of them, with keys of at most 255 bytes. It must come to its
	// end soon: the next connection waits for it. A service that does not exist
	// has none.
	Sessions(service uint32, limit int) (total int, list []Session)
	// Session is the session of one key; false when there is none.
	Session(service uint32, key []byte) (Session, bool)
	// ChangeSessions makes a change and says how many sessions it was about. It
	// is called as Sessions is; an error says why nothing was changed.
	ChangeSessions(change SessionChange) (changed int, err error)
	// Explain says what would become of a request, within the bounds of package
	// explain. It is called as Sessions is; an error says why it cannot.
	Explain(q explain.Question) (*explain.Explanation, error)
	// Connections tells how many connections of l4xnat farms there are to
	// backends, nil for all, and lists at most limit of them. EndConnections ends
	// them and says how many. They are called as Sessions is.
	Connections(backends []uint32, limit int) (total int, list []Connection)
	EndConnections(backends []uint32) (ended int)
}

// Serve lets processes of the allowed users, one at a time, control the engine
// h through l ("unixpacket"), until ctx ends; without allowed users only the
// one this process runs as. It closes l, waits for a call under way and returns
// nil when ctx ended, else the error that broke l.
//
// No client can end or block it: what is wrong with a connection is logged and
// closes that connection.
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

// connection is one connection and the two goroutines that serve it: one reads
// and publishes, the other answers questions, so that a publication waits for
// no question.
type connection struct {
	wire    *wire
	h       Handler
	writing sync.Mutex // held for one message
	// asked takes the question that waits for the one before to be answered.
	asked chan question
	done  chan struct{}
}

func begin(c *net.UnixConn, h Handler) *connection {
	s := &connection{wire: newWire(c), h: h, asked: make(chan question, 1), done: make(chan struct{})}
	go s.run()
	return s
}

// end closes the connection and waits until nothing uses the handler.
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
	s.wire.conn.Close() // an answer may wait for room
	close(s.asked)
	answering.Wait()
}

func logEnd(err error) {
	if errors.Is(err, ErrGone) || errors.Is(err, net.ErrClosed) || errors.Is(err, syscall.EPIPE) { // mgmt restarts, or was replaced
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
	if err := s.write(&message{Ack: &ack}); err != nil {
		return fmt.Errorf("send ack of generation %d: %w", ack.Generation, err)
	}
	return nil
}

// question hands q to the answering goroutine. A client sends one at a time, so
// there is room as soon as it may send the next.
func (s *connection) question(q question) error {
	select {
	case s.asked <- q:
		return nil
	default:
		return fmt.Errorf("%w: too many questions at once", ErrProtocol)
	}
}

// answer answers questions until there will be no more.
func (s *connection) answer() {
	for q := range s.asked {
		a := s.answerTo(&q)
		if err := s.write(&message{Answer: &a}); err != nil {
			logEnd(fmt.Errorf("send answer: %w", err))
			s.wire.conn.Close() // wakes the reader, which ends the connection
		}
	}
}

// answerTo calls the handler, with its panic contained as in publish.
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

// publish calls the handler. Its panic must not take the traffic with it.
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
