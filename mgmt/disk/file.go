package disk

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// sync writes the contents of a file or folder to the disk.
var sync = (*os.File).Sync

// Create writes a file that only its owner may read. An existing file does not change: if
// two processes write it, the first one wins. A reader of path, even after a crash of the
// machine, finds the complete content or no file.
func Create(path string, content []byte) error { return write(path, whole(content), Link) }

// CreateFrom is Create for content that is written piece by piece; if fill fails there is
// no file.
func CreateFrom(path string, fill func(io.Writer) error) error { return write(path, fill, Link) }

func whole(content []byte) func(io.Writer) error {
	return func(w io.Writer) error { _, err := w.Write(content); return err }
}

// Replace is Create that replaces an existing file: at every moment there is either the old
// one or the new one.
func Replace(path string, content []byte) error { return ReplaceFrom(path, whole(content)) }

// ReplaceFrom is Replace for content that is written piece by piece; if fill fails the file
// does not change.
func ReplaceFrom(path string, fill func(io.Writer) error) error {
	return write(path, fill, Rename)
}

// Rename durably renames a file of the same folder, and replaces path if it exists. The
// content of the file must be on the disk.
func Rename(from, path string) error {
	if err := os.Rename(from, path); err != nil {
		return err
	}
	return syncFolder(path)
}

// write makes a file under another name, and calls named to give it the name path.
func write(path string, fill func(io.Writer) error, named func(from, path string) error) error {
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*") // made with mode 0600
	if err != nil {
		return err
	}
	defer os.Remove(f.Name())
	if err = errors.Join(fill(f), sync(f), f.Close()); err != nil {
		return err
	}
	return named(f.Name(), path)
}

// Link durably gives a file the additional name path. The content of the file must be on
// the disk. If path exists, it does not change.
func Link(from, path string) error {
	if err := os.Link(from, path); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return syncFolder(path)
}

// syncFolder makes the name path durable.
func syncFolder(path string) error {
	d, err := os.Open(filepath.Dir(path))
	if err != nil {
		return err
	}
	return errors.Join(sync(d), d.Close())
}
