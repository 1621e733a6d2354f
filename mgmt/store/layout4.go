package store

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	bolt "go.etcd.io/bbolt"
)

// Layout 4 stored revisions as JSON like other records: the newest as a wholeRevision, others
// as an entry. These stay unchanged, are read on demand, and are deleted when they are old.
// Rewriting a thousand of them would delay the start by minutes. One that is rewritten because
// it gets a tag becomes CBOR.

// isJSON reports whether a revision is JSON by its first byte: an object begins with a brace.
// CBOR revisions begin with a map, 0xa0 to 0xbf.
func isJSON(plain []byte) bool { return len(plain) > 0 && plain[0] == '{' }

// newestToCBOR migrates layout 4 to layout 5. The newest revision is read at every start, and a
// million records of a zone take longest as JSON.
func newestToCBOR(tx *bolt.Tx) error {
	current := tx.Bucket(currentBucket)
	k, record := current.Cursor().Last()
	if k == nil {
		return nil
	}
	number, err := keyNumber(k)
	if err != nil {
		return fmt.Errorf("%w: %s: %w", ErrCorrupt, currentBucket, err)
	}
	var now wholeRevision
	if err = unseal(record, &now); err == nil && now.Config == nil {
		err = errors.New("it has no configuration")
	}
	if err != nil {
		return fmt.Errorf("%w: revision %d, the newest: %w", ErrCorrupt, number, err)
	}
	return putRevision(current, &entry{now.Revision, whole(now.Config)})
}

// headOfJSON reads the fields before the difference and the change, as stored differences may
// be long.
func headOfJSON(from io.Reader, into *Revision) error {
	var plain bytes.Buffer // the expanded data so far
	members := json.NewDecoder(io.TeeReader(from, &plain))
	if _, err := members.Token(); err != nil { // the brace
		return err
	}
	upTo := members.InputOffset()
	for {
		name, err := members.Token()
		if err != nil {
			return err
		}
		if name == "diff" {
			into.DiffOmitted = true
			break
		}
		if name == "change" || name == json.Delim('}') {
			break
		}
		var skipped json.RawMessage
		if err := members.Decode(&skipped); err != nil {
			return err
		}
		upTo = members.InputOffset()
	}
	plain.Truncate(int(upTo))
	plain.WriteByte('}')
	return json.Unmarshal(plain.Bytes(), into)
}
