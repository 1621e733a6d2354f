package supervisor

import (
	"errors"
	"os"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"
)

// firstInherited is the first descriptor after standard error.
const firstInherited = 3

// seal marks all descriptors of this process except standard input, output and error
// close-on-exec. Otherwise every role, and every program started by one, would inherit
// descriptors left open by a shell or service manager.
func seal() error {
	err := unix.CloseRange(firstInherited, ^uint(0), unix.CLOSE_RANGE_CLOEXEC)
	if errors.Is(err, syscall.ENOSYS) || errors.Is(err, syscall.EINVAL) {
		return sealEach() // Linux before 5.11
	}
	return os.NewSyscallError("close_range", err)
}

func sealEach() error {
	open, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		return err
	}
	for _, e := range open {
		if fd, err := strconv.Atoi(e.Name()); err == nil && fd >= firstInherited {
			syscall.CloseOnExec(fd)
		}
	}
	return nil
}
