package harden

import (
	"fmt"
	"syscall"

	"golang.org/x/sys/unix"
)

// allThreads is a variable only so that its absence in cgo builds can be seen
// in one place: it answers ENOTSUP there.
var allThreads = syscall.AllThreadsSyscall

// Engine closes the file system, exec, and everything else that carrying
// traffic does not need, for all threads and for good. Call it when every
// descriptor is at hand and before the first byte from the network is read.
// An error means that the process must not go on; protection the kernel does
// not offer is no error but shows in the Status.
func Engine() (Status, error) {
	return shutIn(&engineFilter, func() (string, error) {
		return restrictFiles(unix.LANDLOCK_ACCESS_NET_BIND_TCP, allowEphemeral)
	})
}

// Helper prepares netd, and the programs it will run: what capabilities it keeps
// was decided by LimitThread. As root it owns most files of the machine without any of
// them; it loses all rights on files but those helper.go lists.
func Helper() (Status, error) {
	prepareLock()
	return shutIn(&helperFilter, func() (string, error) {
		return restrictFiles(unix.LANDLOCK_ACCESS_NET_CONNECT_TCP, allowHelper)
	})
}

// Manager prepares mgmt: it has no capabilities since its exec, loses the way to new ones,
// to other programs and to most of what administers a machine, and leaves no memory image
// behind when it dies. Its files are those of its user: where access logs go is not known
// beforehand.
func Manager() (Status, error) { return shutIn(&managerFilter, nil) }

// shutIn puts all threads behind a filter and, unless it is nil, under Landlock.
func shutIn(f *filter, landlock func() (missing string, err error)) (Status, error) {
	if err := common(); err != nil {
		return Status{}, err
	}
	abi, missing := landlockABI(), "" // asked now: later the kernel does not tell
	err := onOneThread(func() (err error) {
		if err := noNewPrivs(); err != nil {
			return fmt.Errorf("giving up new privileges: %w", err)
		}
		if landlock != nil {
			if missing, err = landlock(); err != nil {
				return fmt.Errorf("closing the file system: %w", err)
			}
		}
		return installFilter(f)
	})
	if err != nil {
		return Status{}, err
	}
	s, err := Read()
	if landlock != nil && missing == "" {
		s.Landlock = abi
	}
	s.LandlockMissing = missing
	return s, err
}

// common is what every role does: no core dumps, because memory holds keys and
// passwords, and as many descriptors as the system lets it have.
func common() error {
	if err := unix.Setrlimit(unix.RLIMIT_CORE, &unix.Rlimit{}); err != nil {
		return fmt.Errorf("forbidding core dumps: %w", err)
	}
	return RaiseFiles()
}

// RaiseFiles raises the limit of open files to the hard limit, and with the
// right to do so the hard limit to a million or what the kernel allows.
func RaiseFiles() error {
	var l syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &l); err != nil {
		return fmt.Errorf("reading the limit of open files: %w", err)
	}
	if most := kernelFiles(); most > l.Max {
		// The syscall package must do this itself: it puts back for children
		// the limit it found at start unless it was told of a new one.
		if syscall.Setrlimit(syscall.RLIMIT_NOFILE, &syscall.Rlimit{Cur: most, Max: most}) == nil {
			return nil
		}
	}
	l.Cur = l.Max
	if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &l); err != nil {
		return fmt.Errorf("raising the limit of open files: %w", err)
	}
	return nil
}

// setLimit sets a limit of this process and of those it starts. The syscall package must
// set that of open files itself: for children it puts back the one it found at start.
func setLimit(which int, most uint64) error {
	return syscall.Setrlimit(which, &syscall.Rlimit{Cur: most, Max: most})
}
