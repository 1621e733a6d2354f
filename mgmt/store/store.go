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

// lockWait is the time for which Open waits for another process that is ending.
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

// buckets are all parts of a store. In numbered and named ones every value is a record, and the
// keys are numbers or names.
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
	name string // absolute path for messages

	// keep is the minimum number of kept revisions.
	keep uint64

	// write guards all changes of the file and the cursors.
	write   sync.Mutex
	failed  error // ErrDiskFailed, or errTorn in a change, once it happened
	cursors cursors
	parts   heldParts // of the newest configuration
	// frozen reports the documents that must not be written because other packages hold values
	// from before a Restore; nil before it. Settings are frozen as well.
	frozen func(document string) bool

	current atomic.Pointer[snapshot]
	keys    atomic.Pointer[[]keyEntry]
	damages atomic.Pointer[[]Damage]
	// repaired is the damage found by this process, or nil.
	repaired *Damage
}

// Open opens the store in dir. It creates both if necessary, migrates an older file and keeps a
// copy of it, and repairs a damaged one (Repaired, Damages). Errors are ErrLocked, ErrCorrupt,
// ErrNewer, or from the file system.
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

// open opens or creates the file and loads its content.
func (s *Store) open() error {
	var file *os.File // bbolt's file, which it does not close if it panics
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

// giveUp releases the lock; errors are ignored because the caller has one. If bbolt panicked
// while opening the file, its mapping stays and would keep the lock beyond the descriptor.
func (s *Store) giveUp(file *os.File) {
	if s.db != nil {
		_ = s.db.Close()
	} else if file != nil {
		_ = syscall.Flock(int(file.Fd()), syscall.LOCK_UN)
		_ = file.Close()
	}
}

// createFile creates an empty store unless there is a file. It writes the file under another
// name and links it. So the file is always complete, and only one of two processes can create
// it.
func createFile(path string) error {
	if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	made := fmt.Sprintf("%s.%d.new", path, os.Getpid())
	_ = os.Remove(made) // left by a process with our PID that died
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
		keys, err := readKeys(tx)
		if err != nil {
			return err
		}
		s.keys.Store(&keys)
		unsettled := readDamages(tx)
		s.damages.Store(&unsettled)
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

// damages are bbolt's errors for an invalid file.
var damages = []error{bolterrors.ErrInvalid, bolterrors.ErrChecksum, bolterrors.ErrVersionMismatch, bolterrors.ErrInvalidMapping}

// explain adds the remedy to an error of Open.
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

// instead returns the alternative to an unusable file: the newest copy of a migration that this
// release can read, or an empty configuration.
func (s *Store) instead() string {
	for layout := schemaVersion; layout > 0; layout-- {
		if _, err := os.Stat(copyOf(s.path, layout)); err == nil {
			return fmt.Sprintf("the copy %s in its place, which has nothing that was changed since it was made, or with an empty configuration", copyOf(s.name, layout))
		}
	}
	return "an empty configuration"
}

// damaged adds the remedy to ErrCorrupt.
func damaged(path string, err error) error {
	return fmt.Errorf("%s: %w: restore the file from a backup, or move it away and apply an exported configuration", path, err)
}

// Close waits for a change in progress and releases the file. Current stays usable.
func (s *Store) Close() error {
	s.write.Lock()
	defer s.write.Unlock()
	if errors.Is(s.failed, errTorn) {
		return nil // bbolt holds the lock that Close needs; the process end releases the file
	}
	return s.db.Close()
}

// Current returns the newest configuration and its revision; revision 0 is the empty
// configuration before the first change. It does not access the disk.
func (s *Store) Current() (*farm.Config, Revision) {
	now := s.current.Load()
	return now.Config, now.Revision
}
