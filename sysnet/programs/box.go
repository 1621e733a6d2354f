package programs

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Box runs one program at a time.
type Box struct {
	// UID and GID are the identity of the program. With UID 0 the program runs as the
	// user of this process, and its processes are identified by their mark.
	UID, GID uint32
	// Temporary is the folder in which each program gets a private folder.
	Temporary string
	// Confine removes rights that no program needs from the calling thread, and thereby
	// from the program that it starts. private is the folder that the program may write
	// to.
	Confine func(private string) error
	// Watch kills a program that exceeds its limits; nil disables it.
	Watch *Watch
	Log   *slog.Logger

	family *family
	mark   atomic.Uint64 // of the current program
	folder string        // of the current program
}

// own reports whether programs run under a dedicated user.
func (b *Box) own() bool { return b.UID != 0 }

// user returns the uid of programs.
func (b *Box) user() uint32 {
	if b.own() {
		return b.UID
	}
	return uint32(os.Geteuid())
}

// Run runs a program in the box and waits for its end. files are the program and the
// files it needs, if they are passed as descriptors.
func (b *Box) Run(ctx context.Context, c Call, files []*os.File) End {
	private, err := b.private()
	if err != nil {
		return End{Unstarted: fmt.Sprintf("no private folder can be made for it: %s", err)}
	}
	defer b.remove(private)
	b.folder = private
	if len(files) > 0 {
		if err := b.bringAll(private, c, files); err != nil {
			return End{Unstarted: fmt.Sprintf("it cannot be copied into its private folder: %s", err)}
		}
		c.Folder = private
	}
	c.Env = append([]string{"TMPDIR=" + private, "HOME=" + private}, c.Env...)
	var e End
	onLastThread(func() { e = b.confined(ctx, c, private) })
	b.awaitEnd()
	return e
}

// onLastThread calls f on a new thread that ends afterwards, because f drops privileges. The
// main thread is unsuitable, because it never ends.
func onLastThread(f func()) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		runtime.LockOSThread()
		if unix.Gettid() == os.Getpid() {
			onLastThread(f) // the nested call uses another thread, as this one is locked
			runtime.UnlockOSThread()
			return
		}
		f()
	}()
	<-done
}

// confined runs a program from the current thread, which is discarded afterwards.
func (b *Box) confined(ctx context.Context, c Call, private string) End {
	if b.Confine != nil {
		if err := b.Confine(private); err != nil {
			return End{Unstarted: fmt.Sprintf("it cannot be confined: %s", err)}
		}
	}
	h := handling{start: b.start, waited: b.family.waited, end: b.endProgram}
	if b.Watch != nil {
		h.excess = func() string { return b.Watch.excess(b) }
	}
	e := run(ctx, c, h)
	if b.own() {
		b.endAll()
	} else {
		b.family.end(b.mark.Load())
	}
	return e
}

// start starts a program as the user of the box.
func (b *Box) start(cmd *exec.Cmd) error {
	if b.own() {
		cmd.SysProcAttr.Credential = &syscall.Credential{Uid: b.UID, Gid: b.GID}
	}
	mark, err := b.family.start(cmd, !b.own())
	b.mark.Store(mark)
	return err
}

// endProgram kills a program and all its descendants, from a thread with the right to do
// so.
func (b *Box) endProgram(pid int) {
	killGroup(pid)
	if b.own() {
		b.sweep()
	} else {
		b.family.end(b.mark.Load())
	}
}

// endTime bounds the wait for killed processes.
const endTime = time.Second

// errNotOurs means that the thread does not have the identity whose processes are to be
// killed.
var errNotOurs = errors.New("this thread is another user")

// endAll kills every process of the box's user with one system call, so that none can
// fork in between. The thread permanently becomes that user, because an ordinary user can
// signal only its own processes.
func (b *Box) endAll() {
	if err := b.becomeThread(); err != nil {
		b.Log.Error("what a program left behind may go on", "uid", b.UID, "error", err)
		return
	}
	_ = unix.Kill(-1, unix.SIGKILL) // returns no error if there are none
}

// awaitEnd waits until the box's user has no processes, including zombies. Threads of
// this process that became that user end soon, too.
func (b *Box) awaitEnd() {
	b.family.reap()
	if !b.own() {
		return
	}
	for end := time.Now().Add(endTime); time.Now().Before(end); time.Sleep(200 * time.Microsecond) {
		if _, err := unix.Getpriority(unix.PRIO_USER, int(b.UID)); errors.Is(err, unix.ESRCH) {
			return
		}
		b.family.reap()
	}
	b.Log.Warn("processes of a program do not end", "uid", b.UID)
}

// becomeThread makes this thread the user of the box, irrevocably and without
// capabilities.
func (b *Box) becomeThread() error {
	for _, id := range []struct {
		call uintptr
		of   uint32
	}{{unix.SYS_SETRESGID, b.GID}, {unix.SYS_SETRESUID, b.UID}} {
		if _, _, errno := unix.RawSyscall(id.call, uintptr(id.of), uintptr(id.of), uintptr(id.of)); errno != 0 {
			return errno
		}
	}
	// With more privileges, kill(-1) would kill every process of the machine.
	var caps [2]unix.CapUserData
	if err := unix.Capget(&unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}, &caps[0]); err != nil {
		return err
	}
	real, effective, saved := unix.Getresuid()
	if uint32(real) != b.UID || uint32(effective) != b.UID || uint32(saved) != b.UID || b.UID == 0 || caps[0].Effective|caps[1].Effective != 0 {
		return errNotOurs
	}
	return nil
}

// sweep kills all processes of the box's user, e.g. leftovers of an earlier Server.
func (b *Box) sweep() {
	if !b.own() {
		return
	}
	onLastThread(b.endAll)
	b.awaitEnd()
}

// as runs f with the file-system identity of the box and without root's rights over
// files. The identity belongs to the thread, so f must not delegate to other goroutines.
func (b *Box) as(f func() error) error {
	if !b.own() {
		return f()
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	_ = syscall.Setfsgid(int(b.GID)) // these two report no failure
	_ = syscall.Setfsuid(int(b.UID))
	defer func() {
		_ = syscall.Setfsuid(os.Geteuid())
		_ = syscall.Setfsgid(os.Getegid())
	}()
	return f()
}

// folderPrefix begins the names of private folders; the pid of their creator follows.
const folderPrefix = "sluice-program-"

// removeLeft deletes private folders that a dead process has left.
func (b *Box) removeLeft() {
	left, _ := filepath.Glob(filepath.Join(b.Temporary, folderPrefix+"*"))
	for _, folder := range left {
		var st unix.Stat_t
		if unix.Lstat(folder, &st) == nil && st.Uid == b.user() && (b.own() || !makerLives(folder)) {
			b.remove(folder)
		}
	}
}

// makerLives reports whether the creator of a private folder is alive. If all programs
// share one user, the folder may belong to another instance.
func makerLives(folder string) bool {
	maker, _, _ := strings.Cut(strings.TrimPrefix(filepath.Base(folder), folderPrefix), "-")
	pid, err := strconv.Atoi(maker)
	return err != nil || pid <= 0 || !errors.Is(unix.Kill(pid, 0), unix.ESRCH)
}

func (b *Box) private() (folder string, err error) {
	err = b.as(func() error {
		folder, err = os.MkdirTemp(b.Temporary, folderPrefix+strconv.Itoa(os.Getpid())+"-")
		return err
	})
	return folder, err
}

// remove deletes the private folder. The program may have made its own folders
// inaccessible, so it restores their modes.
func (b *Box) remove(private string) {
	err := b.as(func() error {
		if os.RemoveAll(private) == nil {
			return nil
		}
		_ = filepath.WalkDir(private, func(path string, d os.DirEntry, _ error) error {
			if d != nil && d.IsDir() {
				_ = os.Chmod(path, 0o700)
			}
			return nil
		})
		return os.RemoveAll(private)
	})
	if err != nil {
		b.Log.Warn("the private folder of a program is not removed", "folder", private, "error", err)
	}
}

// bringAll copies the passed files into the private folder.
func (b *Box) bringAll(private string, c Call, files []*os.File) error {
	room := int64(maxFile)
	for i, f := range files {
		name, mode := c.File, os.FileMode(0o700)
		if i > 0 {
			name, mode = c.Beside[i-1], 0o600
			if info, err := f.Stat(); err == nil {
				mode = info.Mode().Perm() & 0o700
			}
		}
		n, err := b.bring(filepath.Join(private, name), mode, f, room)
		if err != nil {
			return err
		}
		room -= n
	}
	return nil
}

func (b *Box) bring(path string, mode os.FileMode, file *os.File, room int64) (n int64, err error) {
	err = b.as(func() error {
		// A process forked meanwhile must not inherit it open for writing (ETXTBSY).
		syscall.ForkLock.RLock()
		defer syscall.ForkLock.RUnlock()
		to, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
		if err != nil {
			return err
		}
		n, err = io.Copy(to, io.LimitReader(io.NewSectionReader(file, 0, room+1), room+1))
		if err == nil && n > room {
			err = fmt.Errorf("it is larger than %d MiB", maxFile>>20)
		}
		return errors.Join(err, to.Close())
	})
	return n, err
}
