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
	// applyTime bounds one transaction. 10,000 backends take a third of a second.
	applyTime = 20 * time.Second
	listTime  = 20 * time.Second
	// maxListing bounds the output of nft in bytes. A full persistence map takes about 30
	// MiB.
	maxListing = 128 << 20
	// maxErrors bounds its error output in bytes, at about 200 bytes per rejected line.
	maxErrors = 4 << 20
)

// paths lists the paths of nft in common distributions.
var paths = []string{"/usr/sbin/nft", "/sbin/nft", "/usr/bin/nft", "/usr/local/sbin/nft"}

// Runner runs nft. Use Find or At to make one. It is safe for concurrent use, but callers
// must serialize transactions.
type Runner struct {
	path     string
	applied  atomic.Uint32
	accepted kinds
}

// Applied returns the number of transactions that this Runner has committed.
func (r *Runner) Applied() uint32 { return r.applied.Load() }

// Find returns a Runner of the installed program, or ErrMissing.
func Find() (*Runner, error) {
	for _, path := range paths {
		if p, err := exec.LookPath(path); err == nil {
			return &Runner{path: p}, nil
		}
	}
	return nil, fmt.Errorf("%w (looked for %s)", ErrMissing, strings.Join(paths, ", "))
}

// Check returns nil if rules can be changed here, else ErrUnsupported, ErrNotPermitted or
// another error of nft.
func (r *Runner) Check(ctx context.Context) error { return r.CheckFamily(ctx, "inet") }

// CheckFamily is Check for a family of tables. It adds and deletes a table in one transaction,
// because a kernel may have nf_tables without some families.
func (r *Runner) CheckFamily(ctx context.Context, family string) error {
	probe := Table{Family: family, Name: "sluice-probe"}.String()
	b := &Batch{}
	b.add(0, "add table "+probe)
	b.add(0, "delete table "+probe)
	return r.Apply(ctx, b)
}

// Apply commits the batch as a whole. A rejection is an *Error and leaves the rules
// unchanged.
func (r *Runner) Apply(ctx context.Context, b *Batch) error {
	if b.Empty() {
		return nil
	}
	err := r.direct(b, true)
	if errors.Is(err, errUnanswered) {
		return &Error{Reason: err.Error(), cause: err}
	}
	if err != nil {
		_, err = r.run(ctx, applyTime, b, "-f", "-")
	}
	if err == nil {
		r.applied.Add(1)
	}
	return err
}

// Try returns the error that Apply would return, without committing the batch. It takes
// as long as Apply, except for kinds of batches that were accepted before.
func (r *Runner) Try(ctx context.Context, b *Batch) error {
	if b.Empty() || r.accepted.know(b) {
		return nil
	}
	err := r.direct(b, false)
	if err != nil {
		_, err = r.run(ctx, applyTime, b, "-c", "-f", "-")
	}
	if err == nil {
		r.accepted.learn(b)
	}
	return err
}

// direct sends the batch to the kernel without nft. After an error other than errUnanswered
// nothing is changed, and nft must try.
func (r *Runner) direct(b *Batch, commit bool) error {
	messages, err := b.encode()
	if err != nil {
		return err
	}
	return transact(messages, commit)
}

// run runs nft with the batch as standard input and returns its output.
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
	// The kernel sends Pdeathsig when the thread that started the program ends, so the
	// thread is locked.
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

// errLong means that nft printed more than the limit.
var errLong = errors.New("nft prints more than is accepted")

// bounded keeps the first limit bytes written to it. If cut is true it discards the rest,
// else it returns errLong.
type bounded struct {
	kept  bytes.Buffer // not embedded: its ReadFrom would bypass Write
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

// At returns a Runner of the program at path.
func At(path string) *Runner { return &Runner{path: path} }
