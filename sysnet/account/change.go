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

// Reasons that prevent a change of root's password on this system.
var (
	ErrNotRoot  = errors.New("the password of root is changed by root only: Sluice does not run as root here, use passwd")
	ErrReadOnly = errors.New("the password of root cannot be changed: the system's files in /etc are read-only here, use passwd")
	ErrNoTool   = errors.New("the password of root cannot be changed here: chpasswd is not installed (Debian: passwd)")
	// ErrUnfit means that no system accepts such a password.
	ErrUnfit = fmt.Errorf("the system takes passwords of 1 to %d bytes in one line", MaxPassword)
)

// RefusedError holds the message of chpasswd when it refuses a password.
type RefusedError struct {
	Said string
}

// Error implements error.
func (e *RefusedError) Error() string { return "the system refused the password: " + e.Said }

// maxSaid is the maximum length of the kept message in bytes.
const maxSaid = 300

// changers lists the paths of chpasswd in common distributions.
var changers = []string{"/usr/sbin/chpasswd", "/sbin/chpasswd", "/usr/bin/chpasswd"}

// folder holds the password files of the system and their lock.
const folder = "/etc"

// Change sets root's password to new with chpasswd, according to the configuration of the
// system. right is false, and nothing changes, if old is wrong. Errors: those above,
// *RefusedError, or the failure of a program.
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

// changer returns the path of chpasswd if it can work here.
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

// readOnly reports whether the file system of path is mounted read-only.
func readOnly(path string) bool {
	const flag = 1 // ST_RDONLY, statfs(2)
	var st syscall.Statfs_t
	return syscall.Statfs(path, &st) == nil && st.Flags&flag != 0
}

// change passes chpasswd one line, NAME:PASSWORD. Everything after the first colon is the
// password (chpasswd(8)). It has its own deadline, so a broken connection does not
// interrupt the change.
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

// start keeps the first maxSaid bytes written to it.
type start struct{ kept []byte }

// Write implements io.Writer.
func (s *start) Write(b []byte) (int, error) {
	s.kept = append(s.kept, b[:min(len(b), maxSaid-len(s.kept))]...)
	return len(b), nil
}

// text returns the kept bytes as one printable line.
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
