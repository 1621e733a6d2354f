package store

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	bolt "go.etcd.io/bbolt"
	bolterrors "go.etcd.io/bbolt/errors"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/mgmt/disk"
)

// FileName is the name of the file in the data directory.
const FileName = "store.db"

// lockWait is how long Open waits for another process that is just ending.
const lockWait = time.Second

var (
	metaBucket      = []byte("meta")
	currentBucket   = []byte("current")
	revisionsBucket = []byte("revisions")
	keysBucket      = []byte("keys")
	settingsBucket  = []byte("settings")

	farmsBucket = []byte("farms")
	zonesBucket = []byte("zones")

	certificatesBucket = []byte("certificates")
	authoritiesBucket  = []byte("authorities")
	documentsBucket    = []byte("documents")
)

// buckets are all parts a store has; in numbered and named ones every value is
// a record, the keys are numbers or names.
var (
	numbered = [][]byte{currentBucket, revisionsBucket, keysBucket}
	named    = [][]byte{certificatesBucket, authoritiesBucket, documentsBucket}
	buckets  = slices.Concat([][]byte{metaBucket, settingsBucket}, numbered, named, partBuckets)

	// partBuckets hold the parts of the current configuration (parts.go).
	partBuckets = [][]byte{farmsBucket, zonesBucket}
)

// Store is an open store.
type Store struct {
	db   *bolt.DB
	path string
	name string // path as people know it, who are not where this process is

	// keep is how many revisions stay at least.
	keep uint64

	// write is held over everything that changes the file or the cursors.
	write   sync.Mutex
	failed  error // ErrDiskFailed, or errTorn in a change, once it happened
	cursors cursors
	parts   heldParts // of the newest configuration

	current atomic.Pointer[snapshot]
	keys    atomic.Pointer[[]keyEntry]
	damages atomic.Pointer[[]Damage]
	// repaired is the damage this process found, nil if it found none.
	repaired *Damage
}

// Open opens the store in dir, creating both when they do not exist and
// migrating an older file (a copy of which stays beside it). A damaged one is repaired
// (Repaired, Damages). Errors are
// ErrLocked, ErrCorrupt, ErrNewer, or what the file system said.
func Open(dir string) (*Store, error) {
	dir = filepath.Clean(dir)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, disk.Explain(dir, fmt.Errorf("create the data directory: %w", err))
	}
	s := &Store{path: filepath.Join(dir, FileName), keep: 1000}
	s.name = s.path
	if whole, err := filepath.Abs(s.path); err == nil {
		s.name = whole
	}
	if err := s.open(); err != nil {
		return nil, s.explain(err)
	}
	return s, nil
}

// open opens the file, or makes it, and reads what is in it.
func (s *Store) open() error {
	var file *os.File // bbolt's, which it forgets when it panics
	err := contained(func() (err error) {
		if err := createFile(s.path); err != nil {
			return err
		}
		if err := s.examine(); err != nil {
			return err
		}
		s.db, err = bolt.Open(s.path, 0o600, &bolt.Options{Timeout: lockWait, OpenFile: func(name string, flag int, mode os.FileMode) (*os.File, error) {
			opened, err := os.OpenFile(name, flag, mode)
			if name == s.path {
				file = opened
			}
			return opened, err
		}})
		if err != nil {
			return err
		}
		return s.load()
	})
	if err != nil {
		s.giveUp(file)
	}
	return err
}

// giveUp gives the lock back; the reason for it is the error to tell. When
// bbolt panicked while it opened the file, its mapping stays and would keep
// the lock beyond the descriptor.
func (s *Store) giveUp(file *os.File) {
	if s.db != nil {
		_ = s.db.Close()
	} else if file != nil {
		_ = syscall.Flock(int(file.Fd()), syscall.LOCK_UN)
		_ = file.Close()
	}
}

// createFile makes an empty store unless there is a file already. It is made
// complete under another name and then linked, so that no instant has half a
// file and two processes cannot both create it.
func createFile(path string) error {
	if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	made := fmt.Sprintf("%s.%d.new", path, os.Getpid())
	_ = os.Remove(made) // of a process that had our number and died
	defer os.Remove(made)
	db, err := bolt.Open(made, 0o600, &bolt.Options{Timeout: lockWait})
	if err != nil {
		return err
	}
	err = db.Update(create)
	if err := errors.Join(err, db.Close()); err != nil {
		return err
	}
	return disk.Link(made, path)
}

func (s *Store) load() error {
	if err := s.migrate(); err != nil {
		return err
	}
	return s.db.View(func(tx *bolt.Tx) error {
		for _, name := range buckets {
			if tx.Bucket(name) == nil {
				return fmt.Errorf("%w: the part %q is missing", ErrCorrupt, name)
			}
		}
		if err := s.cursors.load(tx.Bucket(metaBucket)); err != nil {
			return err
		}
		if err := s.loadKeys(tx); err != nil {
			return err
		}
		s.loadDamages(tx)
		return s.loadCurrent(tx)
	})
}

func (s *Store) loadCurrent(tx *bolt.Tx) error {
	now, parts, err := readCurrent(tx)
	if err != nil {
		return err
	}
	s.parts = parts
	s.current.Store(now)
	return nil
}

// damages are what bbolt says of a file that is none of its own, or no longer.
var damages = []error{bolterrors.ErrInvalid, bolterrors.ErrChecksum, bolterrors.ErrVersionMismatch, bolterrors.ErrInvalidMapping}

// explain says what an error of Open means to the operator.
func (s *Store) explain(err error) error {
	path := s.name
	switch {
	case errors.Is(err, bolterrors.ErrTimeout):
		return fmt.Errorf("%s: %w: stop the other sluice that uses this data directory, or choose another one", path, ErrLocked)
	case errors.Is(err, ErrNewer):
		return fmt.Errorf("%s: %w: start the newer release again, or move the file away to begin with %s", path, err, s.instead())
	case errors.Is(err, ErrCorrupt):
	case slices.ContainsFunc(damages, func(damage error) bool { return errors.Is(err, damage) }):
		err = fmt.Errorf("%w: %w", ErrCorrupt, err)
	default:
		return disk.Explain(path, fmt.Errorf("open the store %s: %w", path, err))
	}
	return damaged(path, err)
}

// instead says what there is to begin with when the file is of no use: the newest copy a
// migration left that this release can read.
func (s *Store) instead() string {
	for layout := schemaVersion; layout > 0; layout-- {
		if _, err := os.Stat(copyOf(s.path, layout)); err == nil {
			return fmt.Sprintf("the copy %s in its place, which has nothing that was changed since it was made, or with an empty configuration", copyOf(s.name, layout))
		}
	}
	return "an empty configuration"
}

// damaged says what to do about ErrCorrupt.
func damaged(path string, err error) error {
	return fmt.Errorf("%s: %w: restore the file from a backup, or move it away and apply an exported configuration", path, err)
}

// Close waits for a change being written and releases the file. The last
// configuration stays readable through Current.
func (s *Store) Close() error {
	s.write.Lock()
	defer s.write.Unlock()
	if errors.Is(s.failed, errTorn) {
		return nil // bbolt still holds the lock Close waits for; the file goes with the process
	}
	return s.db.Close()
}

// Current returns the newest configuration and its revision; revision 0 is the
// empty configuration before the first change. Costs no disk access.
func (s *Store) Current() (*farm.Config, Revision) {
	now := s.current.Load()
	return now.Config, now.Revision
}
