package backup

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/sluicelb/sluice/mgmt/disk"
)

// rename is disk.Rename; tests let it fail.
var rename = disk.Rename

// staged is the archive of the state before a restoration, under a hidden name. A refused
// restoration must not replace the archive of the restoration before, which may be the only
// way back.
type staged struct {
	hidden, path string
	// previous is the hidden name of the previous archive during the step, "" outside.
	previous string
	kept     bool // the previous archive has only its hidden name, because undo failed
}

// stageBefore writes the archive of the current state. Errors: ErrFull, errors of the disk.
func (k *Keeper) stageBefore() (*staged, error) {
	if err := k.folder.room(Before, 0); err != nil {
		return nil, err
	}
	a, err := k.collect(false)
	if err != nil {
		return nil, err
	}
	s := &staged{hidden: k.folder.hiddenBefore(), path: k.folder.file(Before)}
	return s, k.save(Before, s.hidden, a, "", disk.ReplaceFrom)
}

func (f folder) hiddenBefore() string { return f.file("." + Before) }

// previousBefore is the hidden name of the previous archive while the revision after the given
// one is stored.
func (f folder) previousBefore(revision uint64) string {
	return previousOf(f.hiddenBefore(), revision)
}

func previousOf(hidden string, revision uint64) string {
	return fmt.Sprintf("%s.previous-%d", hidden, revision)
}

// during calls store while the archive has its name. revision is in force until then. If store
// fails, the previous archive returns.
func (s *staged) during(revision uint64, store func() error) error {
	if s == nil {
		return store()
	}
	s.previous = previousOf(s.hidden, revision)
	undo, err := s.swap()
	if err == nil {
		err = store()
	} else {
		err = disk.Explain(s.path, err)
	}
	if err != nil && undo != nil {
		failed := undo()
		s.kept = failed != nil
		err = errors.Join(err, failed)
	}
	return err
}

// swap gives the archive its name. undo returns the name to the previous archive, if any. It
// must be called after an error, too, because the archive may have its name already.
func (s *staged) swap() (undo func() error, err error) {
	err = os.Link(s.path, s.previous)
	undo = func() error { return rename(s.previous, s.path) }
	switch {
	case errors.Is(err, fs.ErrNotExist):
		undo = func() error { return gone(os.Remove(s.path)) }
	case err != nil && !errors.Is(err, fs.ErrExist): // it exists after an undo that failed
		return nil, err
	}
	return undo, rename(s.hidden, s.path)
}

// gone is the error of a removal, nil if there was nothing.
func gone(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// drop removes the hidden files that are left.
func (s *staged) drop() {
	if s == nil {
		return
	}
	_ = os.Remove(s.hidden)
	if s.previous != "" && !s.kept {
		_ = os.Remove(s.previous)
	}
}

// finishBefore returns its name to the previous archive if an interrupted restoration has not
// stored its state: the revision in force is still that of before.
func (f folder) finishBefore(revision uint64) error {
	return gone(rename(f.previousBefore(revision), f.file(Before)))
}
