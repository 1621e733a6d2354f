package harden

import (
	"fmt"
	"syscall"

	"golang.org/x/sys/unix"
)

// allThreads is a variable for clarity: it returns ENOTSUP in cgo builds.
var allThreads = syscall.AllThreadsSyscall

// Engine irrevocably removes access to files, exec and all other calls that traffic does
// not need, for all threads. Call it after all descriptors are open and before the first
// byte from the network is read. After an error the process must exit. Missing kernel
// features are no error; Status shows them.
func Engine() (Status, error) {
	return shutIn(&engineFilter, func() (string, error) {
		return restrictFiles(unix.LANDLOCK_ACCESS_NET_BIND_TCP, allowEphemeral)
	})
}

// Helper prepares netd and its programs. LimitThread has determined its capabilities. As
// root it owns most files of the machine even without capabilities, so it loses all
// rights on files except those in helper.go.
func Helper() (Status, error) {
	prepareLock()
	return shutIn(&helperFilter, func() (string, error) {
		return restrictFiles(unix.LANDLOCK_ACCESS_NET_CONNECT_TCP, allowHelper)
	})
}

// Manager prepares mgmt. It has no capabilities since exec. It loses the ability to
// regain them, to start programs and to make most administrative calls, and leaves no
// core dump. It keeps the files of its user, because the paths of access logs are not
// known in advance.
func Manager() (Status, error) { return shutIn(&managerFilter, nil) }

// shutIn applies a filter to all threads, and Landlock unless landlock is nil.
func shutIn(f *filter, landlock func() (missing string, err error)) (Status, error) {
	if err := common(); err != nil {
		return Status{}, err
	}
	abi, missing := landlockABI(), "" // queried first, because the filter blocks it later
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

// common applies the settings of every role: no core dumps, because memory holds keys and
// passwords, and the maximum limit of descriptors.
func common() error {
	if err := unix.Setrlimit(unix.RLIMIT_CORE, &unix.Rlimit{}); err != nil {
		return fmt.Errorf("forbidding core dumps: %w", err)
	}
	return RaiseFiles()
}

// RaiseFiles raises the limit of open files to the hard limit. If permitted, it first
// raises the hard limit to a million or the kernel's maximum.
func RaiseFiles() error {
	var l syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &l); err != nil {
		return fmt.Errorf("reading the limit of open files: %w", err)
	}
	if most := kernelFiles(); most > l.Max {
		// Package syscall must set it: for children it restores the limit found at start
		// unless it has set a new one itself.
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

// setLimit sets a limit of this process and its children. Package syscall must set that
// of open files: for children it restores the one found at start.
func setLimit(which int, most uint64) error {
	return syscall.Setrlimit(which, &syscall.Rlimit{Cur: most, Max: most})
}
