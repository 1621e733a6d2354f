package harden

import (
	"debug/elf"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Rights on files, from include/uapi/linux/landlock.h.
const (
	readFile  = unix.LANDLOCK_ACCESS_FS_READ_FILE
	readTree  = readFile | unix.LANDLOCK_ACCESS_FS_READ_DIR
	writeFile = unix.LANDLOCK_ACCESS_FS_WRITE_FILE | unix.LANDLOCK_ACCESS_FS_TRUNCATE
	execute   = unix.LANDLOCK_ACCESS_FS_EXECUTE | readFile
)

// xtablesLock is the lock file of the iptables programs.
const xtablesLock = "/run/xtables.lock"

// helperFiles lists the files that netd and its programs need: programs and libraries,
// name databases, and network state of the kernel. They may not create, remove or rename
// files. Missing paths are skipped.
var helperFiles = []struct {
	rights uint64
	paths  string // separated by blanks
}{
	{readTree, "/usr /lib /lib32 /lib64 /bin /sbin /proc /sys"},
	{readTree, "/etc/iproute2 /etc/xtables /etc/ld.so.conf.d"},
	{readFile, "/etc/ld.so.cache /etc/ld.so.preload /etc/ld.so.conf /etc/nsswitch.conf /etc/protocols /etc/services /etc/networks /etc/hosts /etc/ethertypes /etc/connlabel.conf /etc/localtime"},
	{readFile, "/dev/urandom /dev/random"},
	{readFile | writeFile, "/dev/null " + xtablesLock},
	{readTree | writeFile, "/proc/sys/net"},
}

// helperPrograms are the programs of netd, with the names of all distributions.
// programFolders are their folders.
var (
	helperPrograms = []string{"nft", "iptables*", "ip6tables*", "xtables*multi"}
	programFolders = []string{"/usr/sbin", "/sbin", "/usr/bin", "/bin", "/usr/local/sbin", "/usr/local/bin"}
)

// prepareLock creates the lock file of iptables while that is still possible. It ignores
// errors, because an unprivileged netd does not need it.
func prepareLock() {
	if f, err := os.OpenFile(xtablesLock, os.O_RDONLY|os.O_CREATE, 0o600); err == nil {
		_ = f.Close()
	}
}

// allowHelper adds the files of netd to a ruleset.
func allowHelper(fd uintptr, abi int) error {
	known := fileRights(abi)
	for _, f := range helperFiles {
		for path := range strings.FieldsSeq(f.paths) {
			if err := allowBeneath(fd, path, f.rights&known); err != nil {
				return err
			}
		}
	}
	for _, folder := range programFolders {
		for _, name := range helperPrograms {
			found, _ := filepath.Glob(filepath.Join(folder, name))
			for _, path := range found {
				if err := allowProgram(fd, path); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// allowProgram allows the execution of a program and of its ELF interpreter.
func allowProgram(fd uintptr, path string) error {
	if err := allowBeneath(fd, path, execute); err != nil {
		return err
	}
	f, err := elf.Open(path)
	if err != nil {
		return nil // a script, or not executable
	}
	defer f.Close()
	for _, p := range f.Progs {
		if p.Type == elf.PT_INTERP {
			b, err := io.ReadAll(io.LimitReader(p.Open(), unix.PathMax))
			if err != nil {
				return fmt.Errorf("%s: %w", path, err)
			}
			return allowBeneath(fd, strings.TrimRight(string(b), "\x00"), execute)
		}
	}
	return nil
}

// allowBeneath grants rights on a file, or on everything below a directory. Missing and
// inaccessible paths are skipped, as are rights that this kernel does not handle.
func allowBeneath(fd uintptr, path string, rights uint64) error {
	if rights == 0 {
		return nil
	}
	at, err := unix.Open(path, unix.O_PATH|unix.O_CLOEXEC, 0)
	switch {
	case errors.Is(err, unix.ENOENT), errors.Is(err, unix.EACCES), errors.Is(err, unix.ENOTDIR):
		return nil
	case err != nil:
		return fmt.Errorf("%s: %w", path, err)
	}
	defer unix.Close(at)
	rule := unix.LandlockPathBeneathAttr{Allowed_access: rights, Parent_fd: int32(at)}
	if err := addRule(fd, unix.LANDLOCK_RULE_PATH_BENEATH, unsafe.Pointer(&rule)); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}
