package supervisor

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
)

// Names in the data directory; mgmt's own files are beside them.
const (
	lockName   = "lock"
	runName    = "run"
	mgmtSock   = "mgmt.sock"
	engineSock = runName + "/engine.sock"
	netdSock   = runName + "/netd.sock"
)

// data is the open and locked data directory.
type data struct {
	path string
	dir  *os.File
	lock *os.File
}

// openData creates the directory if it is missing, gives it to mgmt's user and locks it for
// this process. The lock ends with the process in all cases.
func openData(path string, o owners) (*data, error) {
	if err := os.MkdirAll(path, 0o700); err != nil {
		return nil, fmt.Errorf("data directory: %w; choose another one with --data", err)
	}
	dir, err := os.OpenFile(path, os.O_RDONLY|syscall.O_DIRECTORY, 0)
	if err != nil {
		return nil, fmt.Errorf("data directory: %w", err)
	}
	d := &data{path: path, dir: dir}
	if err := d.adopt(o); err != nil {
		_ = dir.Close()
		return nil, err
	}
	err = o.asManager(func() error {
		if err := d.takeLock(); err != nil {
			return err
		}
		return d.prepareRun()
	})
	if err != nil {
		d.close()
		return nil, err
	}
	return d, nil
}

// within returns a path to name via the open directory. It needs no permissions on parent
// directories and is short enough for a unix socket.
func (d *data) within(name string) string {
	return filepath.Join("/proc/self/fd", strconv.Itoa(int(d.dir.Fd())), name)
}

// adopt gives the directory to mgmt's user. It refuses foreign content, because `--data
// /etc` must not hand over a system.
func (d *data) adopt(o owners) error {
	if err := d.recognise(); err != nil {
		return err
	}
	st, err := d.dir.Stat()
	if err != nil {
		return fmt.Errorf("data directory: %w", err)
	}
	owner := st.Sys().(*syscall.Stat_t).Uid
	if !o.change {
		if me := uint32(os.Geteuid()); me != owner {
			return fmt.Errorf("data directory %s belongs to uid %d and this is uid %d: choose another one with --data, or start as its owner or as root", d.path, owner, me)
		}
		return d.dir.Chmod(0o700)
	}
	if owner != o.manager.Uid {
		if err := d.handOver(o); err != nil {
			return fmt.Errorf("data directory: giving it to uid %d: %w", o.manager.Uid, err)
		}
	}
	return d.dir.Chmod(0o700)
}

// recognise accepts an empty directory and one that an appliance used before.
func (d *data) recognise() error {
	if _, err := os.Lstat(d.within(lockName)); err == nil {
		return nil
	}
	names, err := d.dir.Readdirnames(2)
	if err != nil && !errors.Is(err, io.EOF) {
		return fmt.Errorf("data directory: %w", err)
	}
	names = slices.DeleteFunc(names, func(n string) bool { return n == "lost+found" }) // a separate file system
	if len(names) > 0 {
		return fmt.Errorf("data directory %s holds other files (%s) and is not one of Sluice: choose an empty or a new one with --data", d.path, names[0])
	}
	return nil
}

// handOver changes the owner of the whole tree, the top directory last. This happens on the
// first start and when mgmt's user has changed.
func (d *data) handOver(o owners) error {
	root, err := os.OpenRoot(d.path)
	if err != nil {
		return err
	}
	defer root.Close()
	err = fs.WalkDir(root.FS(), ".", func(name string, e fs.DirEntry, err error) error {
		if err != nil || name == "." {
			return err
		}
		info, err := e.Info()
		if err != nil {
			return err
		}
		if info.Mode().IsRegular() && info.Sys().(*syscall.Stat_t).Nlink > 1 {
			return fmt.Errorf("%s has a second name elsewhere; it is not touched", name)
		}
		return root.Lchown(name, int(o.manager.Uid), int(o.manager.Gid))
	})
	if err != nil {
		return err
	}
	return d.dir.Chown(int(o.manager.Uid), int(o.manager.Gid))
}

func (d *data) takeLock() error {
	f, err := os.OpenFile(d.within(lockName), os.O_RDWR|os.O_CREATE|syscall.O_NOFOLLOW, 0o600)
	if err != nil {
		return fmt.Errorf("data directory %s: %w", d.path, errors.Unwrap(err))
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		b, _ := io.ReadAll(io.LimitReader(f, 32))
		_ = f.Close()
		if errors.Is(err, syscall.EWOULDBLOCK) {
			return fmt.Errorf("another instance runs on %s (process %s): stop it, or choose another directory with --data", d.path, strings.TrimSpace(string(b)))
		}
		return fmt.Errorf("locking %s: %w", d.path, err)
	}
	d.lock = f
	if err := f.Truncate(0); err != nil {
		return fmt.Errorf("locking %s: %w", d.path, err)
	}
	_, err = f.WriteAt([]byte(strconv.Itoa(os.Getpid())+"\n"), 0)
	return err
}

// prepareRun creates the directory for internal sockets and removes leftover ones, which are
// unused because the directory is locked.
func (d *data) prepareRun() error {
	if err := os.Mkdir(d.within(runName), 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("data directory %s: %w", d.path, err)
	}
	return d.removeSockets()
}

func (d *data) removeSockets() error {
	for _, name := range []string{mgmtSock, engineSock, netdSock} {
		if err := os.Remove(d.within(name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("data directory %s: removing an old socket: %w", d.path, err)
		}
	}
	return nil
}

func (d *data) close() {
	if d.lock != nil {
		_ = d.lock.Close()
	}
	_ = d.dir.Close()
}

// journalName is the file with the sysctl values from before netd changed them.
const journalName = "netd.journal"

// openJournal opens the journal, which stays in place when the supervisor ends. It is opened
// here because netd has no access to the data directory. It is opened with mgmt's
// permissions and without following links, because the directory belongs to mgmt.
func openJournal(d *data, o owners) (f *os.File, err error) {
	err = o.asManager(func() error {
		f, err = os.OpenFile(d.within(journalName), os.O_RDWR|os.O_CREATE|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0o600)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("data directory %s: %w", d.path, err)
	}
	if err := regular(d, f); err != nil {
		return nil, err
	}
	return f, nil
}

// regular refuses and closes a journal that is not a regular file.
func regular(d *data, f *os.File) error {
	if st, err := f.Stat(); err != nil || !st.Mode().IsRegular() {
		_ = f.Close()
		return fmt.Errorf("data directory %s: %s is not a regular file", d.path, journalName)
	}
	return nil
}

// StoppedData is the data directory of a stopped appliance. No appliance can start there
// before Close.
type StoppedData struct {
	// Journal is netd's journal, or nil if there is none.
	Journal *os.File
	data    *data
}

// Close releases the directory.
func (s *StoppedData) Close() {
	if s.Journal != nil {
		_ = s.Journal.Close()
	}
	s.data.close()
}

// Stopped opens the data directory of a stopped appliance. It returns an error if one runs
// there, and fs.ErrNotExist for a directory without one: an appliance may run elsewhere.
func Stopped(path string) (*StoppedData, error) {
	dir, err := os.OpenFile(path, os.O_RDONLY|syscall.O_DIRECTORY, 0)
	if err != nil {
		return nil, fmt.Errorf("data directory: %w", err)
	}
	s := &StoppedData{data: &data{path: path, dir: dir}}
	if _, err = os.Lstat(s.data.within(lockName)); err == nil {
		err = s.data.takeLock()
	}
	if err == nil {
		s.Journal, err = os.OpenFile(s.data.within(journalName), os.O_RDWR|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
		if errors.Is(err, fs.ErrNotExist) {
			s.Journal, err = nil, nil
			return s, nil
		}
	}
	if err == nil {
		err = regular(s.data, s.Journal)
	}
	if err != nil {
		s.Journal = nil
		s.data.close()
		return nil, err
	}
	return s, nil
}
