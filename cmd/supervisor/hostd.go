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

// GroupVariable is the gid of mgmt, for hostd: the group with access to the AgentX socket.
const GroupVariable = "SLUICE_GROUP"

// HostPrefix is the prefix of hostd's name, which ends with the kind of request.
const HostPrefix = "hostd-"

// hostTime bounds one request about the machine.
const hostTime = 15 * time.Second

// maxHostAnswer bounds the response of hostd in bytes.
const maxHostAnswer = 4 << 10

// errNotRoot means that settings need root privileges.
var errNotRoot = errors.New("this instance was not started by root: it sets nothing of the machine")

// HostRequest implements line.Desk. It starts this program for a single request about the
// machine. The request comes from mgmt. Only that process parses it, and it has only the
// privileges for its kind of request. Requests run one at a time.
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
		// Never unlocked: the thread drops privileges and ends with the goroutine.
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
	// Kill the whole process group, including programs that it runs.
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	if err := cmd.Run(); err != nil {
		if ctx.Err() != nil {
			return nil, fmt.Errorf("not done within %v: %w", hostTime, ctx.Err())
		}
		return nil, err
	}
	return said.text.Bytes(), nil
}

// bounded is a buffer that holds at most most bytes.
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
