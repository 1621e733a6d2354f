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
)

// maxConfig bounds the --config file in bytes.
const maxConfig = 64 << 20

// ErrGone means that the supervisor ended.
var ErrGone = errors.New("the supervisor is gone")

// Line is the role's end.
type Line struct {
	conn   *net.UnixConn
	gone   chan struct{}
	reload chan struct{}
	answer chan answer // holds one

	asking   sync.Mutex // one question at a time
	question uint64     // number of the last one; guarded by asking
}

type answer struct {
	m     message
	files []*os.File
}

// Answer takes over the role's end of the channel.
func Answer(c *net.UnixConn) *Line {
	l := &Line{conn: c, gone: make(chan struct{}), reload: make(chan struct{}, 1), answer: make(chan answer, 1)}
	go l.listen()
	return l
}

// Gone is closed when the supervisor has ended.
func (l *Line) Gone() <-chan struct{} { return l.gone }

// Reload gets a value when the --config file shall be read again. Several
// wishes may count as one.
func (l *Line) Reload() <-chan struct{} { return l.reload }

// Ready reports that the role serves and what protects it.
func (l *Line) Ready(st harden.Status) error {
	return send(l.conn, message{Op: opReport, Hardening: &st})
}

// Config returns the path and the content of the --config file as it is now;
// ErrNoConfig when there is none.
func (l *Line) Config(ctx context.Context) (path string, content []byte, err error) {
	a, err := l.ask(ctx, opConfig)
	if err != nil {
		return "", nil, err
	}
	defer closeFiles(a.files)
	switch {
	case a.m.Error != "":
		return "", nil, a.m.problem()
	case len(a.files) != 1:
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
	a, err := l.ask(ctx, opRoles)
	if err != nil {
		return nil, err
	}
	closeFiles(a.files)
	if a.m.Error != "" {
		return nil, a.m.problem()
	}
	return a.m.Roles, nil
}

// problem is the error of an answer.
func (m *message) problem() error {
	switch {
	case m.NoConfig:
		return ErrNoConfig
	case m.NotYours:
		return ErrNotYours
	}
	return errors.New(m.Error)
}

func (l *Line) ask(ctx context.Context, op string) (answer, error) {
	l.asking.Lock()
	defer l.asking.Unlock()
	l.question++
	if err := send(l.conn, message{Op: op, Question: l.question}); err != nil {
		return answer{}, err
	}
	for {
		select {
		case a := <-l.answer:
			if a.m.Question == l.question {
				return a, nil
			}
			closeFiles(a.files) // the late answer to a question that was given up
		case <-l.gone:
			return answer{}, ErrGone
		case <-ctx.Done():
			return answer{}, ctx.Err()
		}
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
		l.deliver(answer{m, files})
	}
}

// deliver leaves an answer for whoever asks. One that was given up may lie
// there still; it makes room.
func (l *Line) deliver(a answer) {
	for {
		select {
		case l.answer <- a:
			return
		case old := <-l.answer:
			closeFiles(old.files)
		}
	}
}
