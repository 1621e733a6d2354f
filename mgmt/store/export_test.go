package store

import (
	"testing"

	bolt "go.etcd.io/bbolt"
)

// Keep sets how many revisions stay, so that a test need not write a thousand.
func (s *Store) Keep(n uint64) { s.keep = n }

// WithCursors sets the IDs given last.
func (s *Store) WithCursors(farm, service, backend uint32) {
	s.cursors = cursors{farm, service, backend}
}

// Unsynced makes writes fast and unsafe, for tests of many revisions.
func (s *Store) Unsynced() { s.db.NoSync = true }

// Spoil damages the record of a revision while the store is open.
func Spoil(t *testing.T, s *Store, revision uint64) {
	t.Helper()
	err := s.db.Update(func(tx *bolt.Tx) error {
		return tx.Bucket(revisionsBucket).Put(numberKey(revision), []byte("no record"))
	})
	if err != nil {
		t.Fatal(err)
	}
}
