package accesslog

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"syscall"

	"github.com/sluicelb/sluice/mgmt/disk"
)

// Folder is the folder of the log files in the data directory. Ending is the end of their
// names, before the number of older files.
const (
	Folder = "log"
	Ending = ".log"
)

const (
	folderMode = 0o750
	fileMode   = 0o640
	// tailSize is the size of the file's tail that is searched for the end of a line. All
	// lines are shorter.
	tailSize = 128 << 10
)

// file is an output that appends to a file and starts a new one when it becomes too large:
// NAME.log, then NAME.log.1 for the previous one, and so on.
type file struct {
	root *os.Root // the data directory
	name string   // below it
	most int64    // bytes
	keep int      // older files

	f    *os.File
	size int64
}

func newFile(root *os.Root, name string, most int64, keep int) *file {
	return &file{root: root, name: Folder + "/" + name + Ending, most: most, keep: keep}
}

// notRotated is the reason why a file grows beyond its size. The lines were written.
type notRotated struct{ error }

func (o *file) write(c *chunk) error {
	stays, err := o.append(c)
	switch {
	case err != nil:
		return disk.Explain(o.path(), err)
	case stays != nil:
		return notRotated{stays}
	}
	return nil
}

// append writes lines. The result stays is the reason if the file could not be rotated.
func (o *file) append(c *chunk) (stays, err error) {
	if o.f == nil {
		if err := o.open(); err != nil {
			return nil, err
		}
	}
	if o.size > 0 && o.size+int64(len(c.bytes)) > o.most {
		if stays = o.rotate(); stays != nil && o.f == nil {
			return nil, stays
		}
	}
	n, err := o.f.Write(c.bytes)
	if err != nil {
		if n > 0 { // it may end with a part of a line
			_ = o.f.Truncate(o.size)
		}
		o.close()
		return nil, fmt.Errorf("write %s: %w", o.name, err)
	}
	o.size += int64(n)
	return stays, nil
}

// open opens the file, or makes it. It removes the incomplete line of an earlier mgmt that
// was killed.
func (o *file) open() error {
	if err := o.root.Mkdir(Folder, folderMode); err == nil {
		_ = o.root.Chmod(Folder, folderMode) // independently of the umask
	} else if !errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("make the log folder: %w", err)
	}
	if st, err := o.root.Lstat(o.name); err == nil && !st.Mode().IsRegular() { // a link leads to another place
		return fmt.Errorf("open %s: it is no regular file", o.name)
	}
	// Without O_NONBLOCK a named pipe would block the log.
	f, err := o.root.OpenFile(o.name, os.O_RDWR|os.O_CREATE|os.O_APPEND|syscall.O_NONBLOCK, fileMode)
	if err != nil {
		return fmt.Errorf("open %s: %w", o.name, err)
	}
	if err := o.take(f); err != nil {
		_ = f.Close()
		return fmt.Errorf("open %s: %w", o.name, err)
	}
	return nil
}

func (o *file) take(f *os.File) error {
	st, err := f.Stat()
	switch {
	case err != nil:
		return err
	case !st.Mode().IsRegular():
		return errors.New("it is no regular file")
	}
	if err := f.Chmod(fileMode); err != nil {
		return err
	}
	size, err := wholeLines(f, st.Size())
	if err == nil && size < st.Size() {
		err = f.Truncate(size)
	}
	if err != nil {
		return err
	}
	o.f, o.size = f, size
	return nil
}

// wholeLines returns the size of the file up to the end of its last whole line.
func wholeLines(f *os.File, size int64) (int64, error) {
	tail := make([]byte, min(size, tailSize))
	if _, err := f.ReadAt(tail, size-int64(len(tail))); err != nil && !errors.Is(err, io.EOF) {
		return 0, err
	}
	end := bytes.LastIndexByte(tail, '\n') + 1
	if end == 0 && int64(len(tail)) < size {
		return size, nil // foreign content without lines is kept
	}
	return size - int64(len(tail)-end), nil
}

// rotate renames the file and the older ones up to the first free number, and starts a new
// file. If renaming fails the file continues to grow, because lines are more important. The
// files renamed before the failure leave a number free, so a second attempt displaces no
// older file.
func (o *file) rotate() error {
	o.close()
	last := 1
	for ; last < o.keep; last++ {
		if _, err := o.root.Lstat(o.numbered(last)); errors.Is(err, fs.ErrNotExist) {
			break
		}
	}
	for i := last - 1; i >= 0 && o.keep > 0; i-- {
		if err := o.root.Rename(o.numbered(i), o.numbered(i+1)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return errors.Join(fmt.Errorf("rotate %s: %w", o.name, err), o.open())
		}
	}
	return o.open()
}

func (o *file) numbered(i int) string {
	if i == 0 {
		return o.name
	}
	return o.name + "." + strconv.Itoa(i)
}

// path returns the path of the file for readers outside of the data directory.
func (o *file) path() string { return filepath.Join(o.root.Name(), o.name) }

func (o *file) reopen() { o.close() }

func (o *file) close() {
	if o.f != nil {
		_ = o.f.Close()
		o.f, o.size = nil, 0
	}
}
