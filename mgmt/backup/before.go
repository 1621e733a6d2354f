package backup

import (
	"errors"
	"io/fs"
	"os"

	"github.com/sluicelb/sluice/mgmt/disk"
)

// staged is the archive of the state before a restoration, under a hidden name. A refused
// restoration must not replace the archive of the restoration before, which may be the only
// way back.
type staged struct{ hidden, path string }

// stageBefore writes the archive of the current state. Errors: ErrFull, errors of the disk.
func (k *Keeper) stageBefore() (*staged, error) {
	if err := k.folder.room(Before, 0); err != nil {
		return nil, err
	}
	a, err := k.collect(false)
	if err != nil {
		return nil, err
	}
	s := &staged{hidden: k.folder.file("." + Before), path: k.folder.file(Before)}
	return s, k.save(Before, s.hidden, a, "", disk.ReplaceFrom)
}

// during calls store while the archive has its name. If store fails, the previous archive
// returns.
func (s *staged) during(store func() error) error {
	if s == nil {
		return store()
	}
	undo, err := s.swap()
	if err != nil {
		return disk.Explain(s.path, err)
	}
	if err = store(); err != nil {
		err = errors.Join(err, undo())
	}
	return err
}

// swap gives the archive its name. undo returns the name to the previous archive, if any.
func (s *staged) swap() (undo func() error, err error) {
	err = os.Link(s.path, s.previous())
	undo = func() error { return disk.Rename(s.previous(), s.path) }
	if errors.Is(err, fs.ErrNotExist) {
		undo, err = func() error { return os.Remove(s.path) }, nil
	}
	if err != nil {
		return nil, err
	}
	return undo, disk.Rename(s.hidden, s.path)
}

// previous is the hidden name of the previous archive during the step.
func (s *staged) previous() string { return s.hidden + ".previous" }

// drop removes the hidden files that are left.
func (s *staged) drop() {
	if s != nil {
		_ = os.Remove(s.hidden)
		_ = os.Remove(s.previous())
	}
}
