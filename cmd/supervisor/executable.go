package supervisor

import (
	"fmt"
	"io"
	"os"
	"strconv"
	"syscall"
)

// firstExecFD is the lowest number for the program's descriptor, above the descriptors of a
// child, which start at 3.
const firstExecFD = 200

// executable returns this program, opened once, so that roles restarted after an update of
// the file still match this supervisor. If roles have other users and only the owner may
// execute the file (umask 077 at build time), the program is copied to the data directory and
// unlinked at once.
func executable(d *data, o owners) (*os.File, error) {
	self, err := os.Open("/proc/self/exe")
	if err != nil {
		return nil, fmt.Errorf("opening this program: %w", err)
	}
	defer self.Close()
	st, err := self.Stat()
	if err != nil {
		return nil, fmt.Errorf("opening this program: %w", err)
	}
	if o.change && st.Mode().Perm()&0o005 != 0o005 {
		err := o.asManager(func() error {
			runnable, err := copyProgram(self, d.within(".program"))
			if err == nil {
				self.Close()
				self = runnable
			}
			return err
		})
		if err != nil {
			return nil, fmt.Errorf("this program may be run by its owner only, and copying it failed: %w", err)
		}
	}
	fd, _, errno := syscall.Syscall(syscall.SYS_FCNTL, self.Fd(), syscall.F_DUPFD_CLOEXEC, firstExecFD)
	if errno != 0 {
		return nil, fmt.Errorf("opening this program: %w", errno)
	}
	return os.NewFile(fd, "sluice"), nil
}

func copyProgram(from *os.File, path string) (*os.File, error) {
	_ = os.Remove(path) // left by a killed start
	to, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o700)
	if err != nil {
		return nil, err
	}
	defer os.Remove(path)
	defer to.Close()
	if _, err := io.Copy(to, from); err != nil {
		return nil, err
	}
	if err := to.Chmod(0o755); err != nil {
		return nil, err
	}
	if err := to.Close(); err != nil {
		return nil, err
	}
	return os.Open(path)
}

// programPath returns the path of the program for a child, which has the descriptor until
// its exec.
func programPath(f *os.File) string { return "/proc/self/fd/" + strconv.Itoa(int(f.Fd())) }
