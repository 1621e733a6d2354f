package nft

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"runtime"
	"strings"
	"sync/atomic"
	"syscall"
	"time"
)

const (
	// applyTime bounds one transaction: ten thousand backends take a third of a
	// second.
	applyTime = 20 * time.Second
	listTime  = 20 * time.Second
	// maxListing bounds what nft may print, in bytes: a full persistence map
	// takes about 30 MiB.
	maxListing = 128 << 20
	// maxErrors bounds what it may say when it fails: some 200 bytes for each
	// line that is refused.
	maxErrors = 4 << 20
)

// paths are where distributions keep nft.
var paths = []string{"/usr/sbin/nft", "/sbin/nft", "/usr/bin/nft", "/usr/local/sbin/nft"}

// Runner runs nft; make it with Find. It may be used from any goroutine; two
// transactions at one time are the caller's to avoid.
type Runner struct {
	path    string
	applied atomic.Uint32
}

// Applied counts the transactions the kernel took from this Runner.
func (r *Runner) Applied() uint32 { return r.applied.Load() }

// Find looks for the program; ErrMissing when there is none.
func Find() (*Runner, error) {
	for _, path := range paths {
		if p, err := exec.LookPath(path); err == nil {
			return &Runner{path: p}, nil
		}
	}
	return nil, fmt.Errorf("%w (looked for %s)", ErrMissing, strings.Join(paths, ", "))
}

// Check reports whether rules can be changed here: nil, ErrUnsupported,
// ErrNotPermitted, or what else nft says. It makes a table and deletes it in one
// transaction: a kernel may have nf_tables and none of its families.
func (r *Runner) Check(ctx context.Context) error {
	probe := &Batch{}
	probe.add(0, "add table inet sluice-probe")
	probe.add(0, "delete table inet sluice-probe")
	return r.Apply(ctx, probe)
}

// Apply makes the kernel take the batch, completely or not at all. Rejections
// are an *Error.
func (r *Runner) Apply(ctx context.Context, b *Batch) error {
	if b.Empty() {
		return nil
	}
	_, err := r.run(ctx, applyTime, b, "-f", "-")
	if err == nil {
		r.applied.Add(1)
	}
	return err
}

// Try reports whether the kernel would take the batch, which it does not. It
// takes as long as Apply.
func (r *Runner) Try(ctx context.Context, b *Batch) error {
	if b.Empty() {
		return nil
	}
	_, err := r.run(ctx, applyTime, b, "-c", "-f", "-")
	return err
}

// run runs nft with the batch as its input and returns what it prints.
func (r *Runner) run(ctx context.Context, limit time.Duration, b *Batch, args ...string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	cmd := exec.CommandContext(ctx, r.path, args...)
	cmd.Env, cmd.Dir = []string{"LC_ALL=C", "PATH=/usr/sbin:/usr/bin:/sbin:/bin"}, "/"
	if b != nil {
		cmd.Stdin = strings.NewReader(b.Text())
	}
	out, stderr := &bounded{limit: maxListing}, &bounded{limit: maxErrors, cut: true}
	cmd.Stdout, cmd.Stderr = out, stderr
	cmd.WaitDelay = time.Second
	// The signal comes with the end of the thread that started the program, so
	// the thread has to stay.
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	err := cmd.Run()
	var exit *exec.ExitError
	switch {
	case err == nil:
		return out.kept.Bytes(), nil
	case ctx.Err() != nil:
		return nil, &Error{Reason: fmt.Sprintf("nft took longer than %v, or was not waited for", limit), cause: ctx.Err()}
	case errors.As(err, &exit) && exit.Exited():
		return nil, failure(stderr.kept.String(), b)
	}
	return nil, &Error{Reason: err.Error(), cause: err}
}

// errLong occurs when nft prints more than is accepted.
var errLong = errors.New("nft prints more than is accepted")

// bounded keeps the first bytes written to it. With cut it swallows the rest,
// else that is an error.
type bounded struct {
	kept  bytes.Buffer // not embedded: its ReadFrom would go round Write
	limit int
	cut   bool
}

// Write implements io.Writer.
func (b *bounded) Write(p []byte) (int, error) {
	room := b.limit - b.kept.Len()
	if len(p) <= room {
		return b.kept.Write(p)
	}
	b.kept.Write(p[:max(0, room)])
	if b.cut {
		return len(p), nil
	}
	return max(0, room), errLong
}

var _ io.Writer = (*bounded)(nil)

// At returns a Runner of the program at that path.
func At(path string) *Runner { return &Runner{path: path} }
