package loop

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// CanMark reports whether connections may have a mark (DialOptions.Mark): the
// kernel wants CAP_NET_ADMIN for that or, from Linux 5.17 on, CAP_NET_RAW. The
// error wraps that of the system.
func CanMark() error {
	fd, errno := sysSocket(unix.AF_INET)
	if errno != 0 {
		return os.NewSyscallError("socket", errno)
	}
	defer sysClose(fd)
	if err := unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_MARK, 1); err != nil {
		return fmt.Errorf("setting the mark of a connection needs CAP_NET_ADMIN: %w", err)
	}
	return nil
}
