package store

// Keep sets how many revisions stay, so that a test need not write a thousand.
func (s *Store) Keep(n uint64) { s.keep = n }

// WithCursors sets the IDs given last.
func (s *Store) WithCursors(farm, service, backend uint32) {
	s.cursors = cursors{farm, service, backend}
}

// Unsynced makes writes fast and unsafe, for tests of many revisions.
func (s *Store) Unsynced() { s.db.NoSync = true }
