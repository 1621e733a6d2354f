package harden

import (
	"fmt"
	"os"
	"path/filepath"
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
	// moreThreads is how many threads and processes all programs may have besides what their
	// user has when progd starts, where they have no user of their own.
	moreThreads = 1024
	// ProgramFiles is what a program may have written, in bytes.
	ProgramFiles = 128 << 20
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
	{filesABI9, "/dev/log /run"},
}

// ProgramSandbox is what programs may do.
type ProgramSandbox struct {
	// Own says that programs have users of their own.
	Own bool
	// Temporary is the folder in which each program gets one of its own.
	Temporary string
	// Data is the data directory: it is out of reach even where all that it lies in is not.
	Data string

	tree []allowance // without the data directory
}

// Close prepares progd: its system calls and files are those of programs, besides the
// folder in which each program gets one of its own. What it looks at for that it may not
// look at any more afterwards.
func (s *ProgramSandbox) Close() (Status, error) {
	_ = os.WriteFile("/proc/self/oom_score_adj", []byte(mostLikely), 0)
	for _, a := range programTree {
		for path := range strings.FieldsSeq(a.paths) {
			s.tree = append(s.tree, around(path, a.rights, s.Data)...)
		}
	}
	status, err := shutIn(&programsFilter, func() (string, error) {
		// It ends what a progd before it has left, which is in no sandbox of its own.
		return restrict(0, unix.LANDLOCK_SCOPE_ABSTRACT_UNIX_SOCKET, func(fd uintptr, abi int) error { return s.allow(fd, abi, s.Temporary) })
	})
	if err != nil {
		return status, err
	}
	return status, limitPrograms(s.Own)
}

// limitPrograms sets the limits that programs inherit. progd is far below them.
func limitPrograms(own bool) error {
	limits := map[int]uint64{unix.RLIMIT_DATA: ProgramMemory, unix.RLIMIT_FSIZE: programFile, unix.RLIMIT_NOFILE: programFiles, unix.RLIMIT_MEMLOCK: programLocked}
	if own && wholeMachine() {
		limits[unix.RLIMIT_NPROC] = ProgramProcesses
	} else {
		// Those that the user of this process has already count, too.
		limits[unix.RLIMIT_NPROC] = threadsOfUser("/proc", os.Geteuid()) + moreThreads
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

// threadsOfUser counts the threads of a user, as the kernel does for its limit.
func threadsOfUser(proc string, uid int) (n uint64) {
	folders, _ := filepath.Glob(filepath.Join(proc, "[0-9]*"))
	for _, folder := range folders {
		var who unix.Stat_t
		if unix.Stat(folder, &who) != nil || int(who.Uid) != uid {
			continue
		}
		threads, _ := filepath.Glob(filepath.Join(folder, "task", "*"))
		n += uint64(len(threads))
	}
	return n
}

// Thread takes from this thread, and from the program it will start, what no program
// needs. The thread must be locked, and end with the program. private is the folder it may
// write to. Only a program with a user of its own may connect to unix sockets, which are
// guarded by the rights on their files alone.
func (s *ProgramSandbox) Thread(private string) error {
	if err := LimitThread(nil); err != nil {
		return err
	}
	_ = unix.Setpriority(unix.PRIO_PROCESS, 0, programNice) // of the thread
	if err := restrictThread(func(fd uintptr, abi int) error { return s.allow(fd, abi, private) }); err != nil {
		return fmt.Errorf("closing the file system: %w", err)
	}
	f := &programFilter
	if !s.Own {
		f = &programAloneFilter
	}
	return f.installOnThread()
}

// allow adds what programs need to a ruleset, and all of one folder.
func (s *ProgramSandbox) allow(fd uintptr, abi int, folder string) error {
	known := fileRights(abi)
	for _, a := range s.tree {
		if err := allowBeneath(fd, a.paths, a.rights&known); err != nil {
			return err
		}
	}
	return allowBeneath(fd, folder, known)
}

// around is the right on all that lies below a folder but one, which may lie deep inside.
// What is made later beside that one is out of reach, too.
func around(path string, rights uint64, but string) (out []allowance) {
	real, err := filepath.EvalSymlinks(path)
	if err != nil || but == "" || !beneath(but, real) {
		return []allowance{{rights & fitting(path), path}}
	}
	entries, err := os.ReadDir(real)
	if real == but || err != nil {
		return nil
	}
	for _, e := range entries {
		out = append(out, around(filepath.Join(real, e.Name()), rights, but)...)
	}
	return out
}

// beneath reports whether a path is a folder, or lies in it.
func beneath(path, folder string) bool {
	return path == folder || strings.HasPrefix(path, strings.TrimSuffix(folder, "/")+"/")
}

// ProgramMayRun reports whether programs can be started from a folder: what lies elsewhere
// has to be brought along.
func ProgramMayRun(folder string) bool {
	for _, a := range programTree {
		if a.rights&unix.LANDLOCK_ACCESS_FS_EXECUTE == 0 {
			continue
		}
		for path := range strings.FieldsSeq(a.paths) {
			if beneath(folder, path) {
				return true
			}
		}
	}
	return false
}
