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
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Box is where one program runs at a time.
type Box struct {
	// UID and GID are those of the program. With UID 0 it keeps the user of this process.
	UID, GID uint32
	// Temporary is the folder in which a private one is made for each program.
	Temporary string
	// Confine takes from the calling thread, and so from the program it starts, what no
	// program needs. private is the folder the program may write to.
	Confine func(private string) error
	// Excess says what a program went beyond, "" for nothing; it is asked again and again
	// while the program runs. nil: nothing is watched.
	Excess func(b *Box, pid int) string
	Log    *slog.Logger
}

// own reports whether programs run as a user of their own.
func (b *Box) own() bool { return b.UID != 0 }

// Run calls a program in the box and waits for its end.
func (b *Box) Run(ctx context.Context, c Call, file *os.File) End {
	private, err := b.private()
	if err != nil {
		return End{Unstarted: fmt.Sprintf("no private folder can be made for it: %s", err)}
	}
	defer b.remove(private)
	if file != nil {
		if err := b.bring(private, c.File, file); err != nil {
			return End{Unstarted: fmt.Sprintf("it cannot be copied into its private folder: %s", err)}
		}
		c.Folder = private
	}
	c.Env = append([]string{"TMPDIR=" + private, "HOME=" + private}, c.Env...)
	done := make(chan End, 1)
	go func() {
		runtime.LockOSThread() // and never unlocked: the thread gives up rights, and ends
		done <- b.confined(ctx, c, private)
	}()
	return <-done
}

// confined calls a program from this thread, which ends with that.
func (b *Box) confined(ctx context.Context, c Call, private string) End {
	if b.Confine != nil {
		if err := b.Confine(private); err != nil {
			return End{Unstarted: fmt.Sprintf("it cannot be confined: %s", err)}
		}
	}
	var watch func(context.Context, int) string
	if b.Excess != nil {
		watch = b.watch
	}
	e := run(ctx, c, b.become, killGroup, watch)
	b.endAll()
	return e
}

// become has a program run as the user of the box.
func (b *Box) become(cmd *exec.Cmd) {
	if b.own() {
		cmd.SysProcAttr.Credential = &syscall.Credential{Uid: b.UID, Gid: b.GID}
	}
}

// endTime bounds the wait for processes that were ended.
const endTime = time.Second

// errNotOurs: the thread is not the user whose processes are to be ended.
var errNotOurs = errors.New("this thread is another user")

// endAll ends every process of the user of the box, wherever it hides: in one system call,
// so that none can start another one meanwhile. The thread becomes that user for good: a
// user may signal its own processes and no others.
func (b *Box) endAll() {
	if !b.own() {
		return
	}
	if err := b.becomeThread(); err != nil {
		b.Log.Error("what a program left behind may go on", "uid", b.UID, "error", err)
		return
	}
	// They die when they run next. Those that nobody has waited for yet count, too.
	for end := time.Now().Add(endTime); unix.Kill(-1, unix.SIGKILL) == nil && time.Now().Before(end); {
		time.Sleep(time.Millisecond)
	}
}

// becomeThread makes this thread the user of the box, with no way back and no capability.
func (b *Box) becomeThread() error {
	for _, id := range []struct {
		call uintptr
		of   uint32
	}{{unix.SYS_SETRESGID, b.GID}, {unix.SYS_SETRESUID, b.UID}} {
		if _, _, errno := unix.RawSyscall(id.call, uintptr(id.of), uintptr(id.of), uintptr(id.of)); errno != 0 {
			return errno
		}
	}
	// A signal to all, sent with more rights than these, would end the machine.
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

// sweep ends what a process before this one left in the box.
func (b *Box) sweep() {
	done := make(chan struct{})
	go func() {
		defer close(done)
		runtime.LockOSThread() // and never unlocked
		b.endAll()
	}()
	<-done
}

// as runs f with the identity of the box for everything that concerns files, and with none
// of root's rights over them. It is the thread's: f must not hand work to other goroutines.
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

func (b *Box) private() (folder string, err error) {
	err = b.as(func() error {
		folder, err = os.MkdirTemp(b.Temporary, "sluice-program-")
		return err
	})
	return folder, err
}

// remove removes the private folder, in which the program may have taken rights from its
// own folders.
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

// bring copies a program that came along into the private folder.
func (b *Box) bring(private, name string, file *os.File) error {
	return b.as(func() error {
		// A process that is started meanwhile must not have it open for writing.
		syscall.ForkLock.RLock()
		defer syscall.ForkLock.RUnlock()
		to, err := os.OpenFile(filepath.Join(private, name), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o700)
		if err != nil {
			return err
		}
		n, err := io.Copy(to, io.LimitReader(io.NewSectionReader(file, 0, maxFile+1), maxFile+1))
		if err == nil && n > maxFile {
			err = fmt.Errorf("it is larger than %d MiB", maxFile>>20)
		}
		return errors.Join(err, to.Close())
	})
}
