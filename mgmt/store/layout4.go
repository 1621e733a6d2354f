package store

import (
	"fmt"
	"slices"

	bolt "go.etcd.io/bbolt"
)

// Layout 4 kept revisions as JSON, as other records are: the newest one as a
// wholeRevision, others as an entry. A million records of a zone took longer to
// read than everything else a start does.

// jsonToCBOR turns layout 4 into layout 5.
func jsonToCBOR(tx *bolt.Tx) error {
	err := convert(tx.Bucket(revisionsBucket), func(record []byte) (*entry, error) {
		e := &entry{}
		return e, unseal(record, e)
	})
	if err != nil {
		return err
	}
	return convert(tx.Bucket(currentBucket), func(record []byte) (*entry, error) {
		var now wholeRevision
		if err := unseal(record, &now); err != nil {
			return nil, err
		}
		if now.Config == nil {
			return nil, errRecord
		}
		return &entry{now.Revision, whole(now.Config)}, nil
	})
}

// convert writes every revision of a bucket anew.
func convert(b *bolt.Bucket, read func(record []byte) (*entry, error)) error {
	var keys [][]byte
	c := b.Cursor()
	for k, _ := c.First(); k != nil; k, _ = c.Next() {
		keys = append(keys, slices.Clone(k))
	}
	for _, k := range keys {
		e, err := read(b.Get(k))
		if err != nil {
			return fmt.Errorf("%w: revision %x cannot be read: %w", ErrCorrupt, k, err)
		}
		if err := putRevision(b, e); err != nil {
			return err
		}
	}
	return nil
}
