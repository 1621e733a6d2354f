package store

import (
	"errors"
	"fmt"
	"runtime"
	"runtime/debug"

	bolt "go.etcd.io/bbolt"
)

// errTorn is ErrCorrupt that shows in the file itself, not in a record: bbolt
// asserts with panics, and reading past the end of a mapped file is a fault.
var errTorn = fmt.Errorf("%w: pages of the file are not what they should be", ErrCorrupt)

// contained runs work on the file and returns what a damaged file does to it as
// errTorn.
func contained(work func() error) (err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		p := recover()
		if p == nil {
			return
		}
		err = errTorn
		if _, fault := p.(runtime.Error); !fault { // which would tell nobody more
			err = fmt.Errorf("%w: %v", errTorn, p)
		}
	}()
	return work()
}

// view runs one reading transaction.
func (s *Store) view(read func(*bolt.Tx) error) error {
	return s.whileOpen(contained(func() error { return s.db.View(read) }))
}

// whileOpen says what to do about a file that was damaged after it was opened.
func (s *Store) whileOpen(err error) error {
	if !errors.Is(err, errTorn) {
		return err
	}
	return fmt.Errorf("%w, then restart sluice", damaged(s.name, err))
}
