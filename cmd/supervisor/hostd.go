package supervisor

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"syscall"
	"time"

	"github.com/sluicelb/sluice/cmd/harden"
)

// GroupVariable is the gid mgmt runs under, for hostd: who may reach subagents' socket.
const GroupVariable = "SLUICE_GROUP"

// HostPrefix begins the name of hostd, which ends with the kind of request.
const HostPrefix = "hostd-"

// hostTime bounds one request about the machine.
const hostTime = 15 * time.Second

// maxHostAnswer bounds what hostd answers, in bytes.
const maxHostAnswer = 4 << 10

// errNotRoot: without root's rights nothing can be set.
var errNotRoot = errors.New("this instance was not started by root: it sets nothing of the machine")

// HostRequest implements line.Desk: this program is started for one request about
// the machine, which is mgmt's and not looked at here. The process does, and may by
// then do what its kind takes and nothing else. One runs at a time.
func (s *supervisor) HostRequest(ctx context.Context, kind string, request []byte) ([]byte, error) {
	switch {
	case !harden.HostMay(kind):
		return nil, fmt.Errorf("there are no requests about %q", kind)
	case os.Geteuid() != 0:
		return nil, errNotRoot
	}
	s.hostd.Lock()
	defer s.hostd.Unlock()
	ctx, cancel := context.WithTimeout(ctx, hostTime)
	defer cancel()
	type outcome struct {
		said []byte
		err  error
	}
	done := make(chan outcome)
	go func() {
		// Never unlocked: the thread gives up rights, and ends with the goroutine.
		runtime.LockOSThread()
		var o outcome
		if o.err = harden.LimitThread(nil); o.err == nil {
			o.said, o.err = s.runHostd(ctx, kind, request)
		}
		done <- o
	}()
	o := <-done
	if o.err != nil {
		return nil, fmt.Errorf("set the machine's %s: %w", kind, o.err)
	}
	return o.said, nil
}

func (s *supervisor) runHostd(ctx context.Context, kind string, request []byte) ([]byte, error) {
	said := bounded{most: maxHostAnswer}
	cmd := exec.CommandContext(ctx, programPath(s.program))
	cmd.Args = []string{"sluice: " + HostPrefix + kind}
	cmd.Env = append(environment(), fmt.Sprintf("%s=%d", GroupVariable, s.owners.managerGID()))
	cmd.Dir, cmd.WaitDelay = "/", time.Second
	cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader(request), &said, os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	// With the programs it runs.
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	if err := cmd.Run(); err != nil {
		if ctx.Err() != nil {
			return nil, fmt.Errorf("not done within %v: %w", hostTime, ctx.Err())
		}
		return nil, err
	}
	return said.text.Bytes(), nil
}

// bounded is a buffer that takes so many bytes, and by Write alone.
type bounded struct {
	text bytes.Buffer
	most int
}

var errTooLong = errors.New("the answer is too long")

func (b *bounded) Write(p []byte) (int, error) {
	if b.text.Len()+len(p) > b.most {
		return 0, errTooLong
	}
	return b.text.Write(p)
}
