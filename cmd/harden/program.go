package harden

import (
	"fmt"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// progd starts programs of the operator (sysnet/programs), each from a thread that has
// given up what no program needs. A program inherits that, and has a user of its own where
// the instance was started by root. What it may use up is limited, too: by these limits of
// each process, and in all by what progd sees while the program runs.

// ProgramsCapabilities is what progd keeps: to make programs another user, with an empty
// bounding set, and to end them. It does not override the rights on files.
var ProgramsCapabilities = []Capability{unix.CAP_SETUID, unix.CAP_SETGID, unix.CAP_SETPCAP, unix.CAP_KILL}

// The limits of a program.
const (
	ProgramMemory    = 512 << 20 // bytes of all its processes; each has as much of data
	ProgramProcesses = 64        // with their threads
	programFile      = 32 << 20  // bytes of a file
	programFiles     = 4096      // open files
	programLocked    = 8 << 20   // bytes of locked memory
	programNice      = 10
	// mostLikely makes the kernel end programs first when the machine has no memory left.
	mostLikely = "1000"
)

// programTree is what programs may read, and from which they may run others: what
// systems are made of, what names and networks are looked up in, and what the kernel tells.
// The data directory is not among it, nor are homes and other people's files.
var programTree = []allowance{
	{readTree | execute, "/usr /lib /lib32 /lib64 /libx32 /bin /sbin /opt"},
	{readTree, "/etc /proc /sys /var/lib/apt /var/lib/dpkg /var/cache/apt /run/systemd/resolve /run/NetworkManager /run/resolvconf"},
	{readFile | writeFile, "/dev/null /dev/zero /dev/full /dev/tty"},
	{readFile, "/dev/urandom /dev/random"},
	{filesABI9, "/dev/log /run/systemd /run/dbus /run/nscd"},
}

// Programs prepares progd: its system calls and files are those of programs, besides the
// folder in which each program gets one of its own. own says that programs have users of
// their own.
func Programs(temporary string, own bool) (Status, error) {
	_ = os.WriteFile("/proc/self/oom_score_adj", []byte(mostLikely), 0)
	status, err := shutIn(&programsFilter, func() (string, error) {
		return restrictFiles(0, func(fd uintptr, abi int) error { return allowPrograms(fd, abi, temporary) })
	})
	if err != nil {
		return status, err
	}
	return status, limitPrograms(own)
}

// limitPrograms sets the limits that programs inherit. progd is far below them.
func limitPrograms(own bool) error {
	limits := map[int]uint64{unix.RLIMIT_DATA: ProgramMemory, unix.RLIMIT_FSIZE: programFile, unix.RLIMIT_NOFILE: programFiles, unix.RLIMIT_MEMLOCK: programLocked}
	if own && wholeMachine() {
		// Of a user who has other processes as well, these would count, too.
		limits[unix.RLIMIT_NPROC] = ProgramProcesses
	}
	for which, most := range limits {
		var now unix.Rlimit
		if err := unix.Getrlimit(which, &now); err != nil {
			return fmt.Errorf("reading limit %d: %w", which, err)
		}
		most = min(most, now.Max)
		if err := setLimit(which, most); err != nil {
			return fmt.Errorf("limiting programs (%d): %w", which, err)
		}
	}
	return nil
}

// wholeMachine reports whether root of this process is root of the machine, whose
// processes the kernel does not count.
func wholeMachine() bool {
	b, err := os.ReadFile("/proc/self/uid_map")
	fields := strings.Fields(string(b))
	return err == nil && len(fields) == 3 && fields[0] == "0" && fields[1] == "0" && fields[2] == strconv.FormatUint(1<<32-1, 10)
}

// Program takes from this thread, and from the program it will start, what no program
// needs. The thread must be locked, and end with the program. private is the folder it may
// write to; own says that it will be a user of its own, and may connect to unix sockets,
// which are guarded by the rights on their files alone.
func Program(private string, own bool) error {
	if err := LimitThread(nil); err != nil {
		return err
	}
	_ = unix.Setpriority(unix.PRIO_PROCESS, 0, programNice) // of the thread
	if err := restrictThread(func(fd uintptr, abi int) error { return allowPrograms(fd, abi, private) }); err != nil {
		return fmt.Errorf("closing the file system: %w", err)
	}
	f := &programFilter
	if !own {
		f = &programAloneFilter
	}
	return f.installOnThread()
}

// allowPrograms adds what programs need to a ruleset, and all of one folder.
func allowPrograms(fd uintptr, abi int, folder string) error {
	known := fileRights(abi)
	for _, a := range programTree {
		for path := range strings.FieldsSeq(a.paths) {
			if err := allowBeneath(fd, path, a.rights&known); err != nil {
				return err
			}
		}
	}
	return allowBeneath(fd, folder, known)
}
