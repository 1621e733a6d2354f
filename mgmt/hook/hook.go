// Package hook runs programs of the operator, which e.g. make DNS records for a challenge,
// or get events.
//
// A program is selected by its name among the files in one folder of the operator, so that
// API keys and documents cannot select another program. It gets arguments and an environment,
// never a command line for a shell. Its time is limited. Its output is read to the end, and a
// part of it is kept. None of its processes outlives it. It runs as a user of its own and in
// a sandbox (sysnet/programs), in a copy of its folder.
//
// Everything may be called from any goroutine. A call waits for its program.
package hook

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// Folder is the folder for hooks and scripts in the data directory, Plugins the folder for
// the operator's own check plugins.
const (
	Folder  = "hooks"
	Plugins = "plugins"
)

// maxName is the greatest length of a program's name, in bytes.
const maxName = 64

// Program is a program in a folder of the operator.
type Program struct{ Folder, Name string }

// NameProblem returns the fault of a program's name, "" for none: it must not be a path or
// look like an option.
func NameProblem(name string) string {
	plain := name != "" && len(name) <= maxName && name[0] != '.' && name[0] != '_' && name[0] != '-'
	for i := range len(name) {
		plain = plain && (letter(name[i]) || strings.IndexByte("._-", name[i]) >= 0)
	}
	if plain {
		return ""
	}
	return fmt.Sprintf("%q is no name of a program: letters, digits and ._- (not the first), at most %d", Shown(name), maxName)
}

func letter(c byte) bool {
	return '0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
}

// Check returns why the program may not be run, nil if it may. Folder and file must belong
// to this process's user or root, and be writable only by their owner.
func (p Program) Check() error {
	if problem := NameProblem(p.Name); problem != "" {
		return errors.New(problem)
	}
	if err := own(p.Folder, true); err != nil {
		return fmt.Errorf("the folder %s of the data directory cannot be used: %w", filepath.Base(p.Folder), err)
	}
	if err := own(filepath.Join(p.Folder, p.Name), false); err != nil {
		return fmt.Errorf("%s/%s in the data directory cannot be used: %w", filepath.Base(p.Folder), p.Name, err)
	}
	return nil
}

// own returns the fault of a folder or program.
func own(path string, folder bool) error {
	info, err := os.Lstat(path)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return errors.New("it does not exist")
	case err != nil:
		return errors.New("it cannot be looked at")
	case folder && !info.IsDir():
		return errors.New("it is no folder")
	case !folder && !info.Mode().IsRegular():
		return errors.New("it is no regular file; links are not followed")
	case info.Mode().Perm()&0o022 != 0:
		return fmt.Errorf("others may write it (mode %04o): chmod go-w", info.Mode().Perm())
	}
	if st, ok := info.Sys().(*syscall.Stat_t); ok && st.Uid != 0 && int(st.Uid) != os.Geteuid() {
		return fmt.Errorf("it belongs to user %d: it must belong to root or to user %d", st.Uid, os.Geteuid())
	}
	if !folder && info.Mode().Perm()&0o111 == 0 {
		return errors.New("it is not executable: chmod +x")
	}
	if !folder && syscall.Access(path, mayReadAndRun) != nil {
		return fmt.Errorf("user %d, as which mgmt runs, may not read and run it: chmod 755 it, or make that user its owner", os.Geteuid())
	}
	return nil
}

// mayReadAndRun is R_OK and X_OK of access(2): scripts must be readable, too.
const mayReadAndRun = 4 | 1
