package disk

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

const table = `22 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw
30 22 8:2 / /var rw shared:2 - ext4 /dev/sda2 rw
31 30 0:40 / /var/lib/my\040data rw master:3 - tmpfs tmpfs rw,size=4k
32 30 8:3 / /var/lib/sluice rw - xfs /dev/sdb1 rw
33 32 8:4 / /var/lib/sluice rw - xfs /dev/sdc1 rw
34 22 0:41 / /a\011b\012c\134d rw - tmpfs odd\134one rw
35 22 8:5 / /bare - xfs /dev/sdd1
broken
36 22 8:6 / /short
37 22 8:7 / - xfs /dev/sde1
38 22 8:8 / /nameless rw - xfs
39 22 8:9 / /nothing rw -
`

func TestTheDiskOfAPathIsTheNearestMountAboveIt(t *testing.T) {
	for path, want := range map[string]string{
		"/etc/x": "/ (/dev/sda1)", "/var": "/var (/dev/sda2)", "/variable/x": "/ (/dev/sda1)", "/var/lib/sluice2/store.db": "/var (/dev/sda2)",
		"/var/lib/sluice/store.db": "/var/lib/sluice (/dev/sdc1)", "/var/lib/my data/x": "/var/lib/my data (tmpfs)",
		"/a\tb\nc\\d/x": "/a\tb\nc\\d (odd\\one)", "/bare/x": "/bare (/dev/sdd1)", "/short/x": "/ (/dev/sda1)", "/nameless": "/ (/dev/sda1)", "/nothing": "/ (/dev/sda1)",
	} {
		if got := find(table, path).String(); got != "the disk mounted at "+want {
			t.Errorf("%s: %s, want %s", path, got, want)
		}
	}
	if got := find("", "/x").String(); got != "the disk" {
		t.Errorf("without a table: got %s, want %s", got, "the disk")
	}
}

func TestDiskErrorsContainAdvice(t *testing.T) {
	for errno, want := range map[syscall.Errno]string{syscall.ENOSPC: "is full: make room there", syscall.EDQUOT: "quota", syscall.EROFS: "mount it writable", syscall.EIO: "dmesg"} {
		cause := fmt.Errorf("write a file: %w", &fs.PathError{Op: "write", Path: "store.db", Err: errno})
		err := Explain("/proc/self", cause)
		var known *Error
		if !errors.As(err, &known) || !errors.Is(err, errno) || !strings.Contains(err.Error(), want) ||
			!strings.Contains(err.Error(), "the disk mounted at /proc") || !strings.Contains(err.Error(), "store.db") {
			t.Errorf("%v: %v", errno, err)
		}
		if again := Explain("/", fmt.Errorf("more: %w", err)); strings.Count(again.Error(), "the disk mounted") != 1 {
			t.Errorf("explained twice: %v", again)
		}
	}
	for _, other := range []error{nil, fs.ErrPermission, errors.New("x")} {
		if got := Explain("/", other); got != other {
			t.Errorf("%v became %v", other, got)
		}
	}
}

func TestARelativePathIsOnTheDiskOfItsFolder(t *testing.T) {
	t.Chdir("/proc")
	for _, path := range []string{".", "not-there/log"} {
		if got := mountOf(path).String(); !strings.HasPrefix(got, "the disk mounted at /proc ") {
			t.Errorf("%s: %s", path, got)
		}
	}
}

func TestALinkIsOnTheDiskItLeadsTo(t *testing.T) {
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink("/proc/self/comm", link); err != nil {
		t.Fatal(err)
	}
	if got := mountOf(link).String(); !strings.HasPrefix(got, "the disk mounted at /proc ") {
		t.Errorf("%s", got)
	}
}

func TestRoomChecksFreeSpace(t *testing.T) {
	dir := t.TempDir()
	if err := Room(dir, 1); err != nil {
		t.Errorf("a byte: %v", err)
	}
	var known *Error
	if err := Room(dir, 1<<62); !errors.As(err, &known) || !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("more than any disk has: %v", err)
	}
	for _, c := range []struct {
		fs   syscall.Statfs_t
		want error
	}{
		{syscall.Statfs_t{Bavail: 2, Bsize: 4}, nil}, {syscall.Statfs_t{Bavail: 1, Bsize: 7}, syscall.ENOSPC}, {syscall.Statfs_t{Bavail: 2, Bsize: 4, Flags: 1}, syscall.EROFS},
	} {
		if err := room(dir, &c.fs, 8); !errors.Is(err, c.want) || errors.As(err, &known) != (c.want != nil) {
			t.Errorf("8 bytes with %+v: %v", c.fs, err)
		}
	}
	if err := Room(filepath.Join(dir, "none"), 1<<62); err != nil {
		t.Errorf("a missing file system: %v", err)
	}
}
