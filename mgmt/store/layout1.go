package store

import (
	"encoding/json"
	"fmt"

	bolt "go.etcd.io/bbolt"

	"github.com/sluicelb/sluice/core/farm"
)

// Layout 1 stored the whole configuration with every revision, as plain JSON without a
// checksum, and neither keys nor settings:
//
//	meta       schema → "1"; farm, service, backend → the last ID given
//	revisions  number → JSON of wholeRevision
//
// A thousand revisions of a thousand farms would need more than a gigabyte.

type wholeRevision struct {
	Revision
	Config *farm.Config `json:"config"`
}

// wholeToChanges migrates layout 1 to layout 2.
func wholeToChanges(tx *bolt.Tx) error {
	old := tx.Bucket(revisionsBucket)
	if old == nil {
		return fmt.Errorf("%w: it has no revisions", ErrCorrupt)
	}
	var whole []wholeRevision
	err := old.ForEach(func(k, v []byte) error {
		var r wholeRevision
		if err := json.Unmarshal(v, &r); err != nil || r.Config == nil {
			return fmt.Errorf("%w: revision %x cannot be read", ErrCorrupt, k)
		}
		whole = append(whole, r)
		return nil
	})
	if err != nil {
		return err
	}
	if err := tx.DeleteBucket(revisionsBucket); err != nil {
		return err
	}
	if err := createBuckets(tx); err != nil {
		return err
	}
	return putChanges(tx, whole)
}

func putChanges(tx *bolt.Tx, whole []wholeRevision) error {
	before := &farm.Config{}
	for i, r := range whole {
		e := entry{Revision: r.Revision, Change: changeBetween(before, r.Config)}
		if i == 0 || r.Number%keyframeEvery == 1 {
			e.Change = change{Whole: true, Farms: r.Config.Farms}
		}
		if err := putRecord(tx.Bucket(revisionsBucket), numberKey(r.Number), &e); err != nil {
			return err
		}
		before = r.Config
	}
	if len(whole) == 0 {
		return nil
	}
	newest := whole[len(whole)-1]
	return putRecord(tx.Bucket(currentBucket), numberKey(newest.Number), &snapshot{Revision: newest.Revision, Config: newest.Config})
}
