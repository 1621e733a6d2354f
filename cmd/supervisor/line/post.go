package line

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/sluicelb/sluice/cmd/harden"
)

// Office receives messages of a role.
type Office interface {
	// Ready receives the report of the role.
	Ready(st harden.Status)
	// Overstepped is called with the name of a forbidden message. An uncompromised role
	// sends none.
	Overstepped(message string)
}

// Desk answers questions.
type Desk interface {
	// Config opens the --config file, or returns ErrNoConfig. The caller closes the file.
	Config() (*os.File, error)
	// Roles returns the state of all roles.
	Roles() []Role
	// RootPassword reports whether a password is root's. It may take seconds and ends with
	// ctx.
	RootPassword(ctx context.Context, password string) (bool, error)
	// HostRequest executes a request about the machine and returns its response. kind
	// determines the privileges of the executing process. It may take seconds and ends with
	// ctx.
	HostRequest(ctx context.Context, kind string, request []byte) (answer []byte, err error)
	// ListenAPI opens another API listener, which replaces the previous one for the next
	// lives of the role. An empty address selects the initial one. The caller must not close
	// it.
	ListenAPI(address string) (*os.File, error)
	// ChangeRootPassword changes root's password. It returns false if old is wrong, and a
	// *RefusedError with the reason if it is impossible.
	ChangeRootPassword(ctx context.Context, old, new string) (bool, error)
}

// maxPasswords bounds the passwords being verified or queued, maxRequests the requests about
// the machine.
const maxPasswords, maxRequests = 8, 4

var (
	errBusy     = errors.New("too many passwords are being checked: try again in a moment")
	errManyHost = errors.New("too many settings of the machine are being made: try again in a moment")
)

// overstepPause slows down the sender of forbidden messages.
const overstepPause = 10 * time.Millisecond

// Post is the supervisor's end.
type Post struct {
	conn   *net.UnixConn
	office Office
	desk   Desk // nil for a role that may not ask
	done   chan struct{}
	// passwords holds one value for each password being verified, requests one for each
	// request about the machine.
	passwords, requests chan struct{}
	// reported means that the report was received. It belongs to the goroutine.
	reported bool
	// asked and answered are the numbers of the last pulse and of the last answer.
	asked, answered atomic.Uint64
	last            time.Time // time of the last pulse; belongs to the caller of Pulse
}

// Pair creates a channel. It returns the supervisor's end, which is served until the role
// ends, and the descriptor to pass to the role, which the caller closes. Reports go to office
// and questions to desk. With a nil desk, questions get ErrNotYours.
func Pair(office Office, desk Desk) (*Post, *os.File, error) {
	fds, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_SEQPACKET|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, nil, fmt.Errorf("supervisor channel: %w", os.NewSyscallError("socketpair", err))
	}
	ours, theirs := os.NewFile(uintptr(fds[0]), "post"), os.NewFile(uintptr(fds[1]), "line")
	defer ours.Close()
	c, err := net.FileConn(ours)
	if err != nil {
		_ = theirs.Close()
		return nil, nil, fmt.Errorf("supervisor channel: %w", err)
	}
	p := &Post{conn: c.(*net.UnixConn), office: office, desk: desk, done: make(chan struct{}), passwords: make(chan struct{}, maxPasswords), requests: make(chan struct{}, maxRequests)}
	go p.serve()
	return p, theirs, nil
}

// Reload makes the role read the --config file again.
func (p *Post) Reload() error { return send(p.conn, message{Op: opReload}) }

// Pulse requests a sign of life from the role, unless an answer is outstanding or the last
// request is more recent than every. It returns the number of the last answer. Only one
// goroutine may call it.
func (p *Post) Pulse(every time.Duration) (answered uint64) {
	asked, answered := p.asked.Load(), p.answered.Load()
	if asked == answered && time.Since(p.last) >= every {
		p.last = time.Now()
		p.asked.Store(asked + 1)
		_ = send(p.conn, message{Op: opPulse, Question: asked + 1}) // an error means that the role has ended
	}
	return answered
}

// Close ends the channel and waits for its goroutine.
func (p *Post) Close() {
	_ = p.conn.Close()
	<-p.done
}

func (p *Post) serve() {
	defer close(p.done)
	var checks sync.WaitGroup
	defer checks.Wait()
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	defer p.conn.Close()
	buf := make([]byte, maxMessage)
	for {
		m, files, err := receive(p.conn, buf)
		if err != nil {
			return
		}
		closeFiles(files) // roles do not send descriptors
		if (m.Op == opPassword || m.Op == opChange) && p.desk != nil {
			p.check(ctx, &checks, m)
			continue
		}
		if m.Op == opHost && p.desk != nil {
			p.host(ctx, &checks, m)
			continue
		}
		if err := p.reply(m); err != nil {
			return
		}
	}
}

func (p *Post) reply(m message) error {
	if m.Op == opReport {
		p.report(m.Hardening)
		return nil
	}
	if m.Op == opPulse {
		if m.Question == p.asked.Load() {
			p.answered.Store(m.Question)
		}
		return nil
	}
	out := message{Op: m.Op, Question: m.Question}
	if p.desk == nil {
		p.overstepped("question")
		out.Error, out.NotYours = ErrNotYours.Error(), true
		return send(p.conn, out)
	}
	switch m.Op {
	case opRoles:
		out.Roles = p.desk.Roles()
	case opConfig:
		f, err := p.desk.Config()
		if err != nil {
			out.Error, out.NoConfig = err.Error(), err == ErrNoConfig
			return send(p.conn, out)
		}
		defer f.Close()
		out.Path = f.Name()
		return send(p.conn, out, f)
	case opListen:
		f, err := p.desk.ListenAPI(m.Address)
		if err != nil {
			out.Error = err.Error()
			return send(p.conn, out)
		}
		return send(p.conn, out, f)
	default:
		out.Error = "unknown question"
	}
	return send(p.conn, out)
}

// check verifies a password concurrently, because a wrong one takes time and other questions
// must not wait.
func (p *Post) check(ctx context.Context, checks *sync.WaitGroup, m message) {
	out := message{Op: m.Op, Question: m.Question}
	select {
	case p.passwords <- struct{}{}:
	default:
		out.Error = errBusy.Error()
		_ = send(p.conn, out)
		return
	}
	checks.Go(func() {
		right, err := p.decide(ctx, m)
		<-p.passwords                      // first, because the role may ask again at once
		if out.Right = right; err != nil { // then Right is meaningless
			var refused *RefusedError
			out.Error, out.Refused = err.Error(), errors.As(err, &refused)
		}
		_ = send(p.conn, out)
	})
}

// host executes a request about the machine concurrently.
func (p *Post) host(ctx context.Context, requests *sync.WaitGroup, m message) {
	out := message{Op: m.Op, Question: m.Question}
	select {
	case p.requests <- struct{}{}:
	default:
		out.Error = errManyHost.Error()
		_ = send(p.conn, out)
		return
	}
	requests.Go(func() {
		answer, err := p.desk.HostRequest(ctx, m.Kind, m.Request)
		<-p.requests
		if out.Answer = answer; err != nil {
			out.Answer, out.Error = nil, err.Error()
		}
		_ = send(p.conn, out)
	})
}

func (p *Post) decide(ctx context.Context, m message) (bool, error) {
	if m.Op == opChange {
		return p.desk.ChangeRootPassword(ctx, string(m.Password), string(m.New))
	}
	return p.desk.RootPassword(ctx, string(m.Password))
}

// report accepts the first report of a life only, because a later one may come from a
// compromised role.
func (p *Post) report(st *harden.Status) {
	if st == nil || p.reported {
		p.overstepped("report")
		return
	}
	p.reported = true
	p.office.Ready(*st)
}

func (p *Post) overstepped(message string) {
	p.office.Overstepped(message)
	time.Sleep(overstepPause)
}
