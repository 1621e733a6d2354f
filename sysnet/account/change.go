package account

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"unicode"
)

// The reasons why no password of root can be changed here.
var (
	ErrNotRoot  = errors.New("the password of root is changed by root only: Sluice does not run as root here, use passwd")
	ErrReadOnly = errors.New("the password of root cannot be changed: the system's files in /etc are read-only here, use passwd")
	ErrNoTool   = errors.New("the password of root cannot be changed here: chpasswd is not installed (Debian: passwd)")
	// ErrUnfit: no system takes such a password.
	ErrUnfit = fmt.Errorf("the system takes passwords of 1 to %d bytes in one line", MaxPassword)
)

// RefusedError is what the system's own tool said when it refused a password.
type RefusedError struct {
	Said string
}

// Error implements error.
func (e *RefusedError) Error() string { return "the system refused the password: " + e.Said }

// maxSaid bounds what is kept of what the tool says, in bytes.
const maxSaid = 300

// changers are where distributions have chpasswd.
var changers = []string{"/usr/sbin/chpasswd", "/sbin/chpasswd", "/usr/bin/chpasswd"}

// folder is where the system keeps its passwords, and locks them.
const folder = "/etc"

// Change gives root another password, by chpasswd, which does it as the system is set
// up to. Whoever asks has to know the one in force: false when it is another one, and
// nothing is changed. Errors: those above, *RefusedError, and what kept the programs
// from doing it.
func (r *Root) Change(ctx context.Context, old, new string) (right bool, err error) {
	if new == "" || len(new) > MaxPassword || strings.ContainsAny(new, "\x00\n\r") {
		return false, ErrUnfit
	}
	tool, err := r.changer()
	if err != nil {
		return false, err
	}
	if right, err := r.Right(ctx, old); !right || err != nil {
		return false, err
	}
	r.one.Lock()
	defer r.one.Unlock()
	return true, change(ctx, tool, new)
}

// changer finds the tool, where it can do its work.
func (r *Root) changer() (string, error) {
	if r.tool != "" {
		return r.tool, nil
	}
	if os.Geteuid() != 0 {
		return "", ErrNotRoot
	}
	if readOnly(folder) {
		return "", ErrReadOnly
	}
	if path := first(changers); path != "" {
		return path, nil
	}
	return "", ErrNoTool
}

// readOnly reports whether the file system there is.
func readOnly(path string) bool {
	const flag = 1 // ST_RDONLY, statfs(2)
	var st syscall.Statfs_t
	return syscall.Statfs(path, &st) == nil && st.Flags&flag != 0
}

// change hands chpasswd one line, NAME:PASSWORD: all behind the first colon is the
// password (chpasswd(8)). It ends in its own time: nobody shall be left between two
// passwords because a connection broke.
func change(ctx context.Context, tool, password string) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), checkTime)
	defer cancel()
	said := &start{}
	err := run(ctx, "root:"+password+"\n", said, tool)
	var exit *exec.ExitError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &exit) && exit.Exited():
		return &RefusedError{Said: said.text()}
	}
	return fmt.Errorf("change the password of root: %w", err)
}

// start keeps the start of what is written to it.
type start struct{ kept []byte }

// Write implements io.Writer.
func (s *start) Write(b []byte) (int, error) {
	s.kept = append(s.kept, b[:min(len(b), maxSaid-len(s.kept))]...)
	return len(b), nil
}

// text is what was kept, in one line that can be shown anywhere.
func (s *start) text() string {
	shown := strings.Map(func(r rune) rune {
		switch {
		case unicode.IsSpace(r):
			return ' '
		case unicode.IsPrint(r):
			return r
		}
		return -1
	}, strings.ToValidUTF8(string(s.kept), ""))
	if shown = strings.TrimSpace(shown); shown == "" {
		return "it does not say why"
	}
	return shown
}
