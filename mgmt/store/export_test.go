package store

import (
	"bytes"
	"slices"
	"syscall"
	"testing"

	bolt "go.etcd.io/bbolt"
)

// Expand decompresses a record.
var Expand = expand

// Keep sets the number of kept revisions, so that a test need not write a thousand, and returns
// the old value.
func (s *Store) Keep(n uint64) (was uint64) {
	was, s.keep = s.keep, n
	return was
}

// WithCursors sets the last IDs given.
func (s *Store) WithCursors(farm, service, backend uint32) {
	s.cursors = cursors{farm, service, backend}
}

// Unsynced makes writes fast and unsafe, for tests of many revisions.
func (s *Store) Unsynced() { s.db.NoSync = true }

// Fail runs a change that fails as if it wrote revision number.
func (s *Store) Fail(number uint64) error {
	return s.update(number, func(*bolt.Tx) error { return syscall.EIO })
}

// Into returns the replacement of all contents by c.
func Into(c Contents, forget bool) Replacement {
	return Replacement{Merge: func(Contents) (Contents, error) { return c, nil }, Forget: forget}
}

// Spoil damages the checksums of all records while the store is open.
func Spoil(t *testing.T, s *Store) {
	t.Helper()
	err := s.db.Update(func(tx *bolt.Tx) error {
		for _, name := range slices.Concat(numbered, named) {
			b := tx.Bucket(name)
			records := map[string][]byte{}
			_ = b.ForEach(func(k, v []byte) error { records[string(k)] = bytes.Clone(v); return nil })
			for key, record := range records {
				record[0] ^= 1
				if err := b.Put([]byte(key), record); err != nil {
					return err
				}
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}
