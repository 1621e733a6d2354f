package store

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	bolt "go.etcd.io/bbolt"
)

// Layout 4 kept revisions as JSON, as other records are: the newest one as a
// wholeRevision, others as an entry. Those stay as they are, are read when somebody asks
// for one, and go when they are old: to write a thousand of them anew would keep the
// appliance from starting for minutes. One that is written again, since it gets a tag,
// becomes CBOR.

// isJSON tells by its first byte what a revision is: an object of JSON begins with a brace,
// a map of CBOR, which every other one begins with, with 0xa0 to 0xbf.
func isJSON(plain []byte) bool { return len(plain) > 0 && plain[0] == '{' }

// newestToCBOR turns layout 4 into layout 5: the newest revision is read at every start,
// and a million records of a zone as JSON take longer than everything else it does.
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

// headOfJSON reads what stands before the difference and the change: differences were
// stored however long they are.
func headOfJSON(from io.Reader, into *Revision) error {
	var plain bytes.Buffer // what was expanded so far
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
