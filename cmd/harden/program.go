package harden

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// progd starts operator programs (sysnet/programs), each from a thread with reduced
// privileges. A program inherits that, and has a dedicated user if root started the
// instance. These limits bound the resources of each process. progd bounds the total
// while the program runs.

// ProgramsCapabilities are the capabilities of progd: to start programs as another user
// with an empty bounding set, and to kill them. They do not override file permissions.
var ProgramsCapabilities = []Capability{unix.CAP_SETUID, unix.CAP_SETGID, unix.CAP_SETPCAP, unix.CAP_KILL}

// Limits of a program.
const (
	ProgramMemory    = 512 << 20 // bytes of all its processes; also RLIMIT_DATA of each
	ProgramProcesses = 64        // including threads
	programFile      = 32 << 20  // bytes per file
	programFiles     = 4096      // open files
	programLocked    = 8 << 20   // bytes of locked memory
	programNice      = 10
	// moreThreads is the allowance of threads and processes for all programs without a
	// dedicated user. It is added to the count of their user when progd starts.
	moreThreads = 1024
	// ProgramFiles bounds the data that a program has written, in bytes.
	ProgramFiles = 128 << 20
	// mostLikely is the oom_score_adj that makes the kernel kill programs first.
	mostLikely = "1000"
)

// programTree lists the files that programs may read or execute: system files, name and
// network databases, and kernel state. It excludes the data directory, home directories
// and other users' files.
var programTree = []allowance{
	{readTree | execute, "/usr /lib /lib32 /lib64 /libx32 /bin /sbin /opt"},
	{readTree, "/etc /proc /sys /var/lib/apt /var/lib/dpkg /var/cache/apt /run/systemd/resolve /run/NetworkManager /run/resolvconf"},
	{readFile | writeFile, "/dev/null /dev/zero /dev/full /dev/tty"},
	{readFile, "/dev/urandom /dev/random"},
	{filesABI9, "/dev/log /run"},
}

// ProgramSandbox holds the permissions of programs.
type ProgramSandbox struct {
	// Own is true if programs have dedicated users.
	Own bool
	// Temporary is the folder of the private folders of programs.
	Temporary string
	// Data is the data directory. It is inaccessible even if its parent is accessible.
	Data string

	tree []allowance // programTree without the data directory
}

// Close prepares progd: it has the system calls and files of programs, plus the folder of
// their private folders. It computes the tree first, because it cannot read those folders
// afterwards.
func (s *ProgramSandbox) Close() (Status, error) {
	_ = os.WriteFile("/proc/self/oom_score_adj", []byte(mostLikely), 0)
	for _, a := range programTree {
		for path := range strings.FieldsSeq(a.paths) {
			s.tree = append(s.tree, around(path, a.rights, s.Data)...)
		}
	}
	status, err := shutIn(&programsFilter, func() (string, error) {
		// no signal scope: progd kills programs left by an earlier progd, which are
		// outside its sandbox
		return restrict(0, unix.LANDLOCK_SCOPE_ABSTRACT_UNIX_SOCKET, func(fd uintptr, abi int) error { return s.allow(fd, abi, s.Temporary) })
	})
	if err != nil {
		return status, err
	}
	return status, limitPrograms(s.Own)
}

// limitPrograms sets the limits that programs inherit. progd stays far below them.
func limitPrograms(own bool) error {
	limits := map[int]uint64{unix.RLIMIT_DATA: ProgramMemory, unix.RLIMIT_FSIZE: programFile, unix.RLIMIT_NOFILE: programFiles, unix.RLIMIT_MEMLOCK: programLocked}
	if own && wholeMachine() {
		limits[unix.RLIMIT_NPROC] = ProgramProcesses
	} else {
		// Existing threads of this user count, too.
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

// wholeMachine reports whether root of this process is root of the initial user
// namespace, which is exempt from RLIMIT_NPROC.
func wholeMachine() bool {
	b, err := os.ReadFile("/proc/self/uid_map")
	fields := strings.Fields(string(b))
	return err == nil && len(fields) == 3 && fields[0] == "0" && fields[1] == "0" && fields[2] == strconv.FormatUint(1<<32-1, 10)
}

// threadsOfUser returns the number of threads of a user, the count of RLIMIT_NPROC.
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

// Thread removes rights that no program needs from this thread, and from the program that
// it starts. The thread must be locked, and end with the program. private is the writable
// folder. Only a program with a dedicated user may connect to unix sockets, because file
// permissions alone protect them.
func (s *ProgramSandbox) Thread(private string) error {
	if err := LimitThread(nil); err != nil {
		return err
	}
	_ = unix.Setpriority(unix.PRIO_PROCESS, 0, programNice) // of this thread only
	if err := restrictThread(func(fd uintptr, abi int) error { return s.allow(fd, abi, private) }); err != nil {
		return fmt.Errorf("closing the file system: %w", err)
	}
	f := &programFilter
	if !s.Own {
		f = &programAloneFilter
	}
	return f.installOnThread()
}

// allow adds the files of programs to a ruleset, and all rights on one folder.
func (s *ProgramSandbox) allow(fd uintptr, abi int, folder string) error {
	known := fileRights(abi)
	for _, a := range s.tree {
		if err := allowBeneath(fd, a.paths, a.rights&known); err != nil {
			return err
		}
	}
	return allowBeneath(fd, folder, known)
}

// around returns rights on everything below a folder except the path but, at any depth.
// Files created later next to but are inaccessible, too.
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

// beneath reports whether path is folder or below it.
func beneath(path, folder string) bool {
	return path == folder || strings.HasPrefix(path, strings.TrimSuffix(folder, "/")+"/")
}

// ProgramMayRun reports whether programs can be started from a folder. Others must be
// passed as descriptors.
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
