package settings

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// head begins every file of ours and identifies it.
const head = "# Written by Sluice. It is replaced whenever the settings of the machine change"

// errMounted means that the file is a bind mount.
var errMounted = errors.New("it is mounted where it is, as into a container: set it where that is started")

// place atomically replaces the content and mode (minus the umask) of a file. changed
// reports whether they differed. The folder must exist.
func (m *Machine) place(name, content string, mode fs.FileMode) (changed bool, err error) {
	path := m.path(name)
	info, err := os.Lstat(path)
	switch {
	case err == nil && !info.Mode().IsRegular():
		return false, fmt.Errorf("%s is no file: it is left as it is", name)
	case err == nil && info.Mode().Perm() == mode:
		if now, err := os.ReadFile(path); err == nil && string(now) == content {
			return false, nil
		}
	}
	temporary := path + ".sluice-new"
	_ = os.Remove(temporary) // left by a process that was killed before Rename
	if err := write(temporary, content, mode); err != nil {
		return false, explain(name, err)
	}
	if err := os.Rename(temporary, path); err != nil {
		_ = os.Remove(temporary)
		return false, explain(name, err)
	}
	return true, syncFolder(path)
}

func write(path, content string, mode fs.FileMode) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return err
	}
	_, err = f.WriteString(content)
	err = errors.Join(err, f.Sync(), f.Close())
	if err != nil {
		_ = os.Remove(path)
	}
	return err
}

// remove deletes a file. changed reports whether it existed.
func (m *Machine) remove(name string) (changed bool, err error) {
	path := m.path(name)
	switch err := os.Remove(path); {
	case errors.Is(err, fs.ErrNotExist):
		return false, nil
	case err != nil:
		return false, explain(name, err)
	}
	return true, syncFolder(path)
}

// syncFolder makes a rename or delete durable. It ignores file systems that do not
// support it.
func syncFolder(path string) error {
	f, err := os.Open(filepath.Dir(path))
	if err != nil {
		return nil
	}
	defer f.Close()
	if err := f.Sync(); errors.Is(err, syscall.EIO) {
		return err
	}
	return nil
}

// explain converts an error into a message for operators.
func explain(name string, err error) error {
	switch {
	case errors.Is(err, syscall.EBUSY):
		return fmt.Errorf("%s cannot be replaced: %w", name, errMounted)
	case errors.Is(err, syscall.EROFS):
		return fmt.Errorf("%s cannot be written: it lies on a file system that may only be read (of a service, see ReadWritePaths of its unit): %w", name, err)
	case errors.Is(err, fs.ErrPermission):
		return fmt.Errorf("%s cannot be written: %w", name, err)
	}
	return err
}
