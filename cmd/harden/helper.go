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

// xtablesLock is what the programs of iptables take turns by.
const xtablesLock = "/run/xtables.lock"

// helperFiles is what netd and the programs it runs need of the file system:
// what programs are made of and what they look names up in, what the kernel tells
// and is told of networks. Nothing in it may be created, removed or renamed. What
// is not there is left out.
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

// helperPrograms are those netd runs, by any name distributions give them, and
// where they look for them.
var (
	helperPrograms = []string{"nft", "iptables*", "ip6tables*", "xtables*multi"}
	programFolders = []string{"/usr/sbin", "/sbin", "/usr/bin", "/bin", "/usr/local/sbin", "/usr/local/bin"}
)

// prepareLock makes the lock of iptables while files can be made; who may not
// need not.
func prepareLock() {
	if f, err := os.OpenFile(xtablesLock, os.O_RDONLY|os.O_CREATE, 0o600); err == nil {
		_ = f.Close()
	}
}

// allowHelper adds what netd needs to a ruleset.
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

// allowProgram lets a program be executed, and what the kernel starts it by.
func allowProgram(fd uintptr, path string) error {
	if err := allowBeneath(fd, path, execute); err != nil {
		return err
	}
	f, err := elf.Open(path)
	if err != nil {
		return nil // a script, or nothing that could be run
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

// allowBeneath grants rights on a file, or on all that lies below a directory. A
// path that is not there, or that nobody here may reach, needs none; nor does one of which
// this kernel guards nothing.
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
