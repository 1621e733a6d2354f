package store

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	bolt "go.etcd.io/bbolt"

	"github.com/sluicelb/sluice/mgmt/disk"
)

// schemaVersion is the layout that this release reads and writes.
const schemaVersion = 6

// Layout is the layout of a Store's data; a newer release may have a newer one.
const Layout = schemaVersion

var schemaKey = []byte("schema")

// migrations[v] migrates layout v to v+1 in one transaction. Every released layout keeps its
// migration, and a file of that layout for the test.
var migrations = map[int]func(*bolt.Tx) error{
	1: wholeToChanges,
	2: createBuckets, // layout 3 is layout 2 with certificates and authorities
	3: createBuckets, // layout 4 is layout 3 with documents
	4: newestToCBOR,  // other revisions stay unchanged
	5: newestToParts, // revisions stay unchanged
}

// migrate migrates the file to schemaVersion in one transaction, after copying the file.
func (s *Store) migrate() error {
	version, err := s.schema()
	if err != nil {
		return err
	}
	switch {
	case version == schemaVersion:
		return nil
	case version > schemaVersion:
		return fmt.Errorf("%w: its layout is %d, this one knows up to %d", ErrNewer, version, schemaVersion)
	}
	backup := copyOf(s.path, version)
	err = s.db.View(func(tx *bolt.Tx) error {
		return keepCopy(backup, func(w io.Writer) error { _, err := tx.WriteTo(w); return err })
	})
	if err != nil {
		return fmt.Errorf("copy to %s before the migration: %w", backup, err)
	}
	return s.db.Update(func(tx *bolt.Tx) error {
		for v := version; v < schemaVersion; v++ {
			if err := migrations[v](tx); err != nil {
				return fmt.Errorf("migrate from layout %d to %d (the file is unchanged): %w", v, v+1, err)
			}
		}
		return writeSchema(tx)
	})
}

// copyOf returns the path of the copy of a file of an older layout.
func copyOf(path string, layout int) string { return fmt.Sprintf("%s.layout%d", path, layout) }

// keepCopy writes a copy under a name, or leaves an existing file unchanged on errors. It
// removes unfinished copies of processes that died, which may be as large as the store.
func keepCopy(name string, fill func(io.Writer) error) error {
	folder, unfinished := filepath.Dir(name), "."+filepath.Base(name)+"." // named by package disk
	files, err := os.ReadDir(folder)
	if err != nil {
		return err
	}
	for _, f := range files {
		if strings.HasPrefix(f.Name(), unfinished) {
			if err := os.Remove(filepath.Join(folder, f.Name())); err != nil {
				return err
			}
		}
	}
	return disk.ReplaceFrom(name, fill)
}

// schema returns the layout version.
func (s *Store) schema() (int, error) {
	version := 0
	err := s.db.View(func(tx *bolt.Tx) error {
		meta := tx.Bucket(metaBucket)
		if meta == nil {
			return fmt.Errorf("%w: it is a file of another program", ErrCorrupt)
		}
		var err error
		version, err = strconv.Atoi(string(meta.Get(schemaKey)))
		if err != nil || version < 1 {
			return fmt.Errorf("%w: its layout version cannot be read", ErrCorrupt)
		}
		return nil
	})
	return version, err
}

func create(tx *bolt.Tx) error {
	if err := createBuckets(tx); err != nil {
		return err
	}
	return writeSchema(tx)
}

func createBuckets(tx *bolt.Tx) error {
	for _, name := range buckets {
		if _, err := tx.CreateBucketIfNotExists(name); err != nil {
			return err
		}
	}
	return nil
}

func writeSchema(tx *bolt.Tx) error {
	return tx.Bucket(metaBucket).Put(schemaKey, []byte(strconv.Itoa(schemaVersion)))
}
