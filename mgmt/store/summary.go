package store

import (
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"strconv"

	bolt "go.etcd.io/bbolt"

	"github.com/sluicelb/sluice/mgmt/store/boltfile"
)

// summary repeats the data without checksums in a record: settings, the meta part, and the
// names of documents. Every transaction writes it with its own number. One with another number
// is ignored: it is from before a migration, or an older release wrote the transaction.
type summary struct {
	Tx       uint64            `json:"tx"`
	Layout   int               `json:"layout"`
	Cursors  cursors           `json:"cursors"`
	Settings map[string]string `json:"settings"`
	// Documents has the checksum of each record, by name.
	Documents map[string]string `json:"documents"`
}

var summaryKey = []byte("summary")

// writeSummary is the last step of each transaction.
func writeSummary(tx *bolt.Tx) error {
	meta := tx.Bucket(metaBucket)
	sum := summary{Tx: uint64(tx.ID()), Layout: layoutOf(meta), Settings: map[string]string{}, Documents: map[string]string{}}
	if err := sum.Cursors.load(meta); err != nil {
		return err
	}
	_ = tx.Bucket(settingsBucket).ForEach(func(k, v []byte) error { sum.Settings[string(k)] = string(v); return nil })
	_ = tx.Bucket(documentsBucket).ForEach(func(k, v []byte) error { sum.Documents[string(k)] = checksum(v); return nil })
	return putRecord(meta, summaryKey, &sum)
}

// checksum returns the checksum of a record as hex; it is empty for an empty record.
func checksum(record []byte) string { return hex.EncodeToString(record[:min(sumSize, len(record))]) }

// summaryOf returns the summary of a tree: nil if there is none, or one of another transaction.
func summaryOf(t *boltfile.Tree) (*summary, error) {
	meta := t.Buckets[string(metaBucket)]
	if meta == nil {
		return nil, nil
	}
	record := recordsOf(meta).Get(summaryKey)
	if record == nil {
		return nil, nil
	}
	var sum summary
	if err := unseal(record, &sum); err != nil {
		return nil, fmt.Errorf("the summary: %w", err)
	}
	if t.Tx != 0 && sum.Tx != t.Tx {
		return nil, nil
	}
	return &sum, nil
}

// check compares the summary with the tree.
func (s *summary) check(t *boltfile.Tree) error {
	meta := recordsOf(t.Buckets[string(metaBucket)])
	var c cursors
	if err := c.load(meta); err != nil {
		return err
	}
	if layoutOf(meta) != s.Layout || c != s.Cursors {
		return errors.New("the part \"meta\" is not as it was written")
	}
	settings, documents := map[string]string{}, map[string]string{}
	for _, r := range t.Buckets[string(settingsBucket)].Records {
		settings[string(r.Key)] = string(r.Value)
	}
	for _, r := range t.Buckets[string(documentsBucket)].Records {
		documents[string(r.Key)] = checksum(r.Value)
	}
	if !maps.Equal(settings, s.Settings) {
		return errors.New("the part \"settings\" is not as it was written")
	}
	if !maps.Equal(documents, s.Documents) {
		return errors.New("the names of documents are not as they were written")
	}
	return nil
}

// mend restores the data without checksums. Documents that are nowhere in the file stay
// damaged.
func (s *summary) mend(parts map[string]held) {
	meta := parts[string(metaBucket)]
	meta[string(schemaKey)] = []byte(strconv.Itoa(s.Layout))
	for kind, name := range kindNames {
		meta[name] = numberKey(uint64(s.Cursors[kind]))[4:]
	}
	settings := held{}
	for name, value := range s.Settings {
		settings[name] = []byte(value)
	}
	parts[string(settingsBucket)] = settings
	was, documents, bySum := parts[string(documentsBucket)], held{}, held{}
	for _, record := range was {
		bySum[checksum(record)] = record
	}
	for name, sum := range s.Documents {
		if documents[name] = bySum[sum]; documents[name] == nil {
			documents[name] = was[name] // from an older transaction
		}
	}
	parts[string(documentsBucket)] = documents
}
