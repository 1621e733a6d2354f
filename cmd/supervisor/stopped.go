package supervisor

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"
)

// Stopped opens what an appliance that does not run left in its data directory:
// netd's journal, nil if there is none. Nobody can start there before release
// is called. An appliance that runs is an error, and so is a directory that is
// none of ours (fs.ErrNotExist): another appliance may run elsewhere.
func Stopped(path string) (journal *os.File, release func(), err error) {
	dir, err := os.OpenFile(path, os.O_RDONLY|syscall.O_DIRECTORY, 0)
	if err != nil {
		return nil, nil, fmt.Errorf("data directory: %w", err)
	}
	d := &data{path: path, dir: dir}
	if _, err = os.Lstat(d.within(lockName)); err == nil {
		err = d.takeLock()
	}
	if err == nil {
		journal, err = os.OpenFile(d.within(journalName), os.O_RDWR|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
		if errors.Is(err, fs.ErrNotExist) {
			return nil, d.close, nil
		}
	}
	if err == nil {
		err = regular(d, journal)
	}
	if err != nil {
		d.close()
		return nil, nil, err
	}
	return journal, func() { _ = journal.Close(); d.close() }, nil
}
