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

// Office is what the supervisor hears of a role.
type Office interface {
	// Ready takes the report of the role.
	Ready(st harden.Status)
	// Overstepped takes what the role sent though it may not, in one word. A role
	// as it was started does nothing of the kind.
	Overstepped(message string)
}

// Desk answers questions.
type Desk interface {
	// Config opens the --config file; ErrNoConfig when there is none. The
	// caller closes the file.
	Config() (*os.File, error)
	// Roles returns the state of all roles.
	Roles() []Role
	// RootPassword reports whether a password is that of the system's root. It may
	// take seconds, and ends with ctx.
	RootPassword(ctx context.Context, password string) (bool, error)
	// HostRequest has a request about the machine carried out, of a kind that decides
	// what the process that does may do, and returns its answer. It may take seconds,
	// and ends with ctx.
	HostRequest(ctx context.Context, kind string, request []byte) (answer []byte, err error)
	// ListenAPI opens another listener of the API, which it keeps for the next lives of
	// the role, in the place of the one before; with an empty address that of the start.
	// The caller must not close it.
	ListenAPI(address string) (*os.File, error)
	// ChangeRootPassword gives the system's root another password; false when old is
	// not the one in force. *RefusedError says to who asked why it cannot be done.
	ChangeRootPassword(ctx context.Context, old, new string) (bool, error)
}

// maxPasswords is how many passwords are checked or wait for it at once, maxRequests
// how many requests about the machine.
const maxPasswords, maxRequests = 8, 4

var (
	errBusy     = errors.New("too many passwords are being checked: try again in a moment")
	errManyHost = errors.New("too many settings of the machine are being made: try again in a moment")
)

// overstepPause slows down who sends what it may not.
const overstepPause = 10 * time.Millisecond

// Post is the supervisor's end.
type Post struct {
	conn   *net.UnixConn
	office Office
	desk   Desk // nil for a role that may ask nothing
	done   chan struct{}
	// passwords holds one for each password that is being checked, requests one for each
	// request about the machine.
	passwords, requests chan struct{}
	// reported: the report was taken. The goroutine's.
	reported bool
	// asked and answered are the numbers of the last pulse and of the last answer.
	asked, answered atomic.Uint64
	last            time.Time // it was asked; of who calls Pulse
}

// Pair makes a channel: the supervisor's end, served until the role is gone, and
// the descriptor to pass to the role, which the caller closes. The report of the
// role goes to office. Its questions go to desk; without one each is answered
// by ErrNotYours.
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

// Reload tells the role to read the --config file again.
func (p *Post) Reload() error { return send(p.conn, message{Op: opReload}) }

// Pulse asks the role whether it goes on, unless it has not answered yet or was asked within
// that time, and returns the number of its last answer. One goroutine may call it.
func (p *Post) Pulse(every time.Duration) (answered uint64) {
	asked, answered := p.asked.Load(), p.answered.Load()
	if asked == answered && time.Since(p.last) >= every {
		p.last = time.Now()
		p.asked.Store(asked + 1)
		_ = send(p.conn, message{Op: opPulse, Question: asked + 1}) // else it has ended
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
		closeFiles(files) // no role has descriptors to give
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

// check answers about a password meanwhile: a wrong one takes its time, and others
// ask, too.
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
		<-p.passwords                      // first: who is answered may ask again at once
		if out.Right = right; err != nil { // then it says nothing of the password
			var refused *RefusedError
			out.Error, out.Refused = err.Error(), errors.As(err, &refused)
		}
		_ = send(p.conn, out)
	})
}

// host answers a request about the machine meanwhile.
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

// report takes the first report of a life and no other: a role that was captured
// later must not be shown as protected as it was, or better.
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
