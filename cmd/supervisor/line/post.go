package line

import (
	"fmt"
	"net"
	"os"
	"syscall"

	"github.com/sluicelb/sluice/cmd/harden"
)

// Supervisor is what the other end of the channel may ask and tell.
type Supervisor interface {
	// Ready takes the report of the role.
	Ready(st harden.Status)
	// Config opens the --config file; ErrNoConfig when there is none. The
	// caller closes the file.
	Config() (*os.File, error)
	// Roles returns the state of all roles.
	Roles() []Role
}

// Post is the supervisor's end.
type Post struct {
	conn *net.UnixConn
	done chan struct{}
}

// Pair makes a channel: the supervisor's end, served by s until the role is
// gone, and the descriptor to pass to the role, which the caller closes.
func Pair(s Supervisor) (*Post, *os.File, error) {
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
	p := &Post{conn: c.(*net.UnixConn), done: make(chan struct{})}
	go p.serve(s)
	return p, theirs, nil
}

// Reload tells the role to read the --config file again.
func (p *Post) Reload() error { return send(p.conn, message{Op: opReload}) }

// Close ends the channel and waits for its goroutine.
func (p *Post) Close() {
	_ = p.conn.Close()
	<-p.done
}

func (p *Post) serve(s Supervisor) {
	defer close(p.done)
	defer p.conn.Close()
	buf := make([]byte, maxMessage)
	for {
		m, files, err := receive(p.conn, buf)
		if err != nil {
			return
		}
		closeFiles(files) // no role has descriptors to give
		if err := p.reply(s, m); err != nil {
			return
		}
	}
}

func (p *Post) reply(s Supervisor, m message) error {
	out := message{Op: m.Op, Question: m.Question}
	switch m.Op {
	case opReport:
		if m.Hardening != nil {
			s.Ready(*m.Hardening)
		}
		return nil
	case opRoles:
		out.Roles = s.Roles()
	case opConfig:
		f, err := s.Config()
		if err != nil {
			out.Error, out.NoConfig = err.Error(), err == ErrNoConfig
			return send(p.conn, out)
		}
		defer f.Close()
		out.Path = f.Name()
		return send(p.conn, out, f)
	default:
		out.Error = "unknown question"
	}
	return send(p.conn, out)
}
