package housetest

import (
	"os/exec"
	"strings"
	"syscall"
	"time"
)

// Run runs a command inside and returns its standard output. A failure ends the test.
func (n *Namespace) Run(name string, args ...string) string {
	n.t.Helper()
	return n.Feed("", name, args...)
}

// Feed is Run with standard input.
func (n *Namespace) Feed(input, name string, args ...string) string {
	n.t.Helper()
	out, err := n.Try(input, name, args...)
	if err != nil {
		n.t.Fatalf("%s: %s %s: %v", n.Name, name, strings.Join(args, " "), err)
	}
	return out
}

// Try is Feed for commands that may fail. The error contains their standard error.
func (n *Namespace) Try(input, name string, args ...string) (string, error) {
	cmd := exec.Command(name, args...)
	var out, stderr strings.Builder
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(input), &out, &stderr
	var err error
	n.Do(func() { err = cmd.Start() })
	if err == nil {
		err = cmd.Wait()
	}
	if err != nil {
		err = &failure{err, stderr.String()}
	}
	return out.String(), err
}

type failure struct {
	err    error
	stderr string
}

func (f *failure) Error() string { return f.err.Error() + ": " + strings.TrimSpace(f.stderr) }
func (f *failure) Unwrap() error { return f.err }

// Start starts a command inside. It dies with the namespace at the latest, even if the
// test process is killed. The caller waits for it.
func (n *Namespace) Start(cmd *exec.Cmd) error {
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	cmd.SysProcAttr.Pdeathsig = syscall.SIGKILL
	var err error
	n.on(func() { err = cmd.Start() })
	return err
}

// Serve starts a command that runs until the test ends. Then it gets SIGTERM, and SIGKILL
// two seconds later. Its output is logged if the test failed.
func (n *Namespace) Serve(name string, args ...string) *exec.Cmd {
	n.t.Helper()
	cmd := exec.Command(name, args...)
	var out strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := n.Start(cmd); err != nil {
		n.t.Fatalf("%s: %s: %v", n.Name, name, err)
	}
	ended := make(chan struct{})
	go func() { _ = cmd.Wait(); close(ended) }()
	n.t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		select {
		case <-ended:
		case <-time.After(2 * time.Second):
			_ = cmd.Process.Kill()
			<-ended
		}
		if n.t.Failed() {
			n.t.Logf("%s: %s wrote:\n%s", n.Name, name, out.String())
		}
	})
	return cmd
}
