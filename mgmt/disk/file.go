package disk

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// sync asks the disk to keep what a file or a folder holds.
var sync = (*os.File).Sync

// Create writes a file that only its owner may read. A file that is there stays
// as it is: of two processes one wins. Who reads path, and who finds it after the
// machine died, has the whole content or no file.
func Create(path string, content []byte) error { return write(path, whole(content), Link) }

// CreateFrom is Create for a content that is written piece by piece; when fill fails
// there is no file.
func CreateFrom(path string, fill func(io.Writer) error) error { return write(path, fill, Link) }

func whole(content []byte) func(io.Writer) error {
	return func(w io.Writer) error { _, err := w.Write(content); return err }
}

// Replace is Create that takes the place of a file that is there: it is the old
// one or the new one, at every instant.
func Replace(path string, content []byte) error { return ReplaceFrom(path, whole(content)) }

// ReplaceFrom is Replace for a content that is written piece by piece; when fill fails
// the file stays what it was.
func ReplaceFrom(path string, fill func(io.Writer) error) error {
	return write(path, fill, func(from, path string) error {
		if err := os.Rename(from, path); err != nil {
			return err
		}
		return syncFolder(path)
	})
}

// write makes a file under another name, and calls named to give it path.
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

// Link gives a file, of which the disk holds everything, the name path as well,
// for good. A file that has it already keeps it.
func Link(from, path string) error {
	if err := os.Link(from, path); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return syncFolder(path)
}

// syncFolder makes the name path outlive the machine.
func syncFolder(path string) error {
	d, err := os.Open(filepath.Dir(path))
	if err != nil {
		return err
	}
	return errors.Join(sync(d), d.Close())
}
