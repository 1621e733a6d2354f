package store

import (
	"errors"
	"fmt"
	"runtime"
	"runtime/debug"

	bolt "go.etcd.io/bbolt"
)

// errTorn is an ErrCorrupt of the file itself, not of a record: bbolt asserts with panics, and
// reading past the end of a mapped file is a memory fault.
var errTorn = fmt.Errorf("%w: pages of the file are not what they should be", ErrCorrupt)

// contained runs work on the file and returns panics and memory faults of a damaged file as
// errTorn.
func contained(work func() error) (err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		p := recover()
		if p == nil {
			return
		}
		err = errTorn
		if _, fault := p.(runtime.Error); !fault { // its text would not help
			err = fmt.Errorf("%w: %v", errTorn, p)
		}
	}()
	return work()
}

// view runs one read transaction.
func (s *Store) view(read func(*bolt.Tx) error) error {
	return s.whileOpen(contained(func() error { return s.db.View(read) }))
}

// whileOpen adds the remedy for a file that was damaged after it was opened.
func (s *Store) whileOpen(err error) error {
	if !errors.Is(err, errTorn) {
		return err
	}
	return fmt.Errorf("%w, then restart sluice", damaged(s.name, err))
}
