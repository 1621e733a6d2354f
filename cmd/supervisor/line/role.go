package line

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"sync"

	"github.com/sluicelb/sluice/cmd/harden"
	"github.com/sluicelb/sluice/sysnet/account"
)

// maxConfig bounds the --config file in bytes.
const maxConfig = 64 << 20

// ErrGone means that the supervisor has ended.
var ErrGone = errors.New("the supervisor is gone")

// Line is the role's end.
type Line struct {
	conn   *net.UnixConn
	gone   chan struct{}
	reload chan struct{}

	mu       sync.Mutex
	question uint64                 // number of the last question
	waiting  map[uint64]chan answer // receivers of answers by question number; each has room for one
}

type answer struct {
	m     message
	files []*os.File
}

// Answer takes over the role's end of the channel.
func Answer(c *net.UnixConn) *Line {
	l := &Line{conn: c, gone: make(chan struct{}), reload: make(chan struct{}, 1), waiting: map[uint64]chan answer{}}
	go l.listen()
	return l
}

// Gone returns a channel that is closed when the supervisor has ended.
func (l *Line) Gone() <-chan struct{} { return l.gone }

// Reload returns a channel that gets a value for each reload request. Several requests may
// be merged.
func (l *Line) Reload() <-chan struct{} { return l.reload }

// Ready reports that the role serves and how it is protected.
func (l *Line) Ready(st harden.Status) error {
	return send(l.conn, message{Op: opReport, Hardening: &st})
}

// Config returns the path and current content of the --config file, or ErrNoConfig.
func (l *Line) Config(ctx context.Context) (path string, content []byte, err error) {
	a, err := l.ask(ctx, message{Op: opConfig})
	if err != nil {
		return "", nil, err
	}
	defer closeFiles(a.files)
	if len(a.files) != 1 {
		return "", nil, errors.New("supervisor channel: the file is missing in the answer")
	}
	content, err = io.ReadAll(io.LimitReader(a.files[0], maxConfig+1))
	if err != nil {
		return "", nil, fmt.Errorf("reading %s: %w", a.m.Path, err)
	}
	if len(content) > maxConfig {
		return "", nil, fmt.Errorf("%s is longer than %d bytes", a.m.Path, maxConfig)
	}
	return a.m.Path, content, nil
}

// Roles returns the state of all roles.
func (l *Line) Roles(ctx context.Context) ([]Role, error) {
	m, err := l.askPlain(ctx, message{Op: opRoles})
	return m.Roles, err
}

// RootPassword reports whether a password is root's. A wrong one takes a second.
func (l *Line) RootPassword(ctx context.Context, password string) (bool, error) {
	if len(password) > account.MaxPassword {
		return false, nil
	}
	m, err := l.askPlain(ctx, message{Op: opPassword, Password: []byte(password)})
	return m.Right, err
}

// HostRequest executes a request about the machine through the supervisor, see
// Desk.HostRequest.
func (l *Line) HostRequest(ctx context.Context, kind string, request []byte) ([]byte, error) {
	if len(request) > maxMessage/2 {
		return nil, errors.New("supervisor channel: the request is too long")
	}
	m, err := l.askPlain(ctx, message{Op: opHost, Kind: kind, Request: request})
	return m.Answer, err
}

// ListenAPI returns another API listener, which the caller closes, see Desk.ListenAPI.
func (l *Line) ListenAPI(ctx context.Context, address string) (*os.File, error) {
	a, err := l.ask(ctx, message{Op: opListen, Address: address})
	if err != nil {
		return nil, err
	}
	if len(a.files) != 1 {
		closeFiles(a.files)
		return nil, errors.New("supervisor channel: the listener is missing in the answer")
	}
	return a.files[0], nil
}

// ChangeRootPassword changes root's password. It returns false if old is wrong, and a
// *RefusedError if the change is impossible or refused.
func (l *Line) ChangeRootPassword(ctx context.Context, old, new string) (right bool, err error) {
	if len(old) > account.MaxPassword || len(new) > account.MaxPassword {
		return false, &RefusedError{account.ErrUnfit.Error()}
	}
	m, err := l.askPlain(ctx, message{Op: opChange, Password: []byte(old), New: []byte(new)})
	return m.Right, err
}

// problem returns the error of an answer.
func (m *message) problem() error {
	switch {
	case m.Refused:
		return &RefusedError{m.Error}
	case m.NoConfig:
		return ErrNoConfig
	case m.NotYours:
		return ErrNotYours
	}
	return errors.New(m.Error)
}

// askPlain is ask for answers without files. After an error the message is empty.
func (l *Line) askPlain(ctx context.Context, m message) (message, error) {
	a, err := l.ask(ctx, m)
	closeFiles(a.files)
	return a.m, err
}

// ask sends a question and waits for its answer. It is safe for concurrent use.
func (l *Line) ask(ctx context.Context, m message) (answer, error) {
	mine := make(chan answer, 1)
	l.mu.Lock()
	l.question++
	m.Question = l.question
	l.waiting[m.Question] = mine
	l.mu.Unlock()
	defer l.giveUp(m.Question, mine)
	if err := send(l.conn, m); err != nil {
		return answer{}, err
	}
	select {
	case a := <-mine:
		if a.m.Error != "" {
			closeFiles(a.files)
			return answer{}, a.m.problem()
		}
		return a, nil
	case <-l.gone:
		return answer{}, ErrGone
	case <-ctx.Done():
		return answer{}, ctx.Err()
	}
}

// giveUp abandons a question. Descriptors of an unread answer are closed.
func (l *Line) giveUp(question uint64, mine chan answer) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.waiting, question)
	select {
	case a := <-mine:
		closeFiles(a.files)
	default:
	}
}

func (l *Line) listen() {
	defer close(l.gone)
	defer l.conn.Close()
	buf := make([]byte, maxMessage)
	for {
		m, files, err := receive(l.conn, buf)
		if err != nil {
			return
		}
		if m.Op == opReload {
			closeFiles(files)
			select {
			case l.reload <- struct{}{}:
			default:
			}
			continue
		}
		if m.Op == opPulse {
			closeFiles(files)
			_ = send(l.conn, message{Op: opPulse, Question: m.Question})
			continue
		}
		l.deliver(answer{m, files})
	}
}

// deliver passes an answer to the waiting goroutine, unless it gave up.
func (l *Line) deliver(a answer) {
	l.mu.Lock()
	defer l.mu.Unlock()
	mine, ok := l.waiting[a.m.Question]
	if !ok {
		closeFiles(a.files)
		return
	}
	delete(l.waiting, a.m.Question)
	mine <- a
}
