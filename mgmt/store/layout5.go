package store

import (
	"fmt"

	bolt "go.etcd.io/bbolt"

	"github.com/sluicelb/sluice/core/farm"
)

// Layout 5 stored the current configuration in one record, as a whole revision. So a change of
// one farm or one record of a zone wrote all of it. Its revisions stay unchanged: they have no
// edits of zones, and every 32nd is whole.

// newestToParts migrates layout 5 to layout 6.
func newestToParts(tx *bolt.Tx) error {
	if err := createBuckets(tx); err != nil {
		return err
	}
	current := tx.Bucket(currentBucket)
	k, record := current.Cursor().Last()
	if k == nil {
		return nil
	}
	number, err := keyNumber(k)
	if err != nil {
		return fmt.Errorf("%w: %s: %w", ErrCorrupt, currentBucket, err)
	}
	now, err := readSnapshot(record)
	if err != nil {
		return fmt.Errorf("revision %d, the newest: %w", number, err)
	}
	if err := deleteBefore(current, ^uint64(0), nil); err != nil {
		return err
	}
	_, err = putParts(tx, now, heldParts{}, compare(&farm.Config{}, now.Config))
	return err
}

// readSnapshot reads the current configuration of layout 5.
func readSnapshot(record []byte) (*snapshot, error) {
	var e entry
	err := unsealRevision(record, &e)
	if err == nil && !e.Change.Whole {
		err = errRecord
	}
	if err != nil {
		return nil, fmt.Errorf("%w: the current configuration: %w", ErrCorrupt, err)
	}
	cfg, err := e.Change.applyTo(&farm.Config{})
	return &snapshot{e.Revision, cfg}, err
}
