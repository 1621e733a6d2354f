package store

import (
	"errors"
	"fmt"

	bolt "go.etcd.io/bbolt"
)

// Documents are values of other packages, each stored under one name, e.g. permissions or
// settings of services. Like keys they are not part of the configuration.

// ReadDocument reads the named document into a value; it returns false if it was never written.
func (s *Store) ReadDocument(name string, into any) (found bool, err error) {
	err = s.view(func(tx *bolt.Tx) error {
		record := tx.Bucket(documentsBucket).Get([]byte(name))
		if record == nil {
			return nil
		}
		found = true
		return unseal(record, into)
	})
	if errors.Is(err, errRecord) {
		err = fmt.Errorf("%w: %w", ErrCorrupt, err)
	}
	if err != nil {
		return found, fmt.Errorf("read the document %q from %s: %w", name, s.name, err)
	}
	return found, nil
}

// WriteDocument writes a document and returns after it is synced to disk.
func (s *Store) WriteDocument(name string, value any) error {
	return s.changeDocument(name, nil, func(b *bolt.Bucket) error { return putRecord(b, []byte(name), value) })
}

// DeleteDocument removes a document; a missing one is no error.
func (s *Store) DeleteDocument(name string) error {
	return s.changeDocument(name, []string{name}, func(*bolt.Bucket) error { return nil })
}

func (s *Store) changeDocument(name string, remove []string, put func(*bolt.Bucket) error) error {
	s.write.Lock()
	defer s.write.Unlock()
	if s.frozen != nil && s.frozen(name) && !ofHistory(name) {
		return fmt.Errorf("write the document %q to %s: %w", name, s.name, ErrRestored)
	}
	return s.changeBucket(documentsBucket, remove, put)
}

// putDocuments writes documents within another transaction; nil removes one.
func putDocuments(tx *bolt.Tx, values map[string]any) error {
	b := tx.Bucket(documentsBucket)
	for name, value := range values {
		var err error
		if value == nil {
			err = b.Delete([]byte(name))
		} else {
			err = putRecord(b, []byte(name), value)
		}
		if err != nil {
			return fmt.Errorf("the document %q: %w", name, err)
		}
	}
	return nil
}
