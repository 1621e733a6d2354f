package store

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	bolt "go.etcd.io/bbolt"

	"github.com/sluicelb/sluice/core/farm"
)

// Contents is all data of a store besides the configuration and its history. Documents of the
// history (HistoryPrefix) are not included.
type Contents struct {
	Certificates []Certificate   `json:"certificates,omitempty"`
	Authorities  []Authority     `json:"authorities,omitempty"`
	Keys         []StoredKey     `json:"keys,omitempty"`
	Settings     []StoredSetting `json:"settings,omitempty"`
	// Documents are in the encoding of their packages.
	Documents []StoredDocument `json:"documents,omitempty"`
}

// StoredKey is an API key with the SHA-256 of its secret.
type StoredKey = keyEntry

// StoredSetting is a setting with its name.
type StoredSetting struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// StoredDocument is a document with its name.
type StoredDocument struct {
	Name  string          `json:"name"`
	Value json.RawMessage `json:"value"`
}

// Whole returns everything except the history, as of one instant.
func (s *Store) Whole() (*farm.Config, Revision, Contents, error) {
	var c Contents
	now := &snapshot{Config: &farm.Config{}}
	err := s.view(func(tx *bolt.Tx) (err error) {
		if now, _, err = readCurrent(tx); err == nil {
			c, err = readContents(tx)
		}
		return err
	})
	if err != nil {
		return nil, Revision{}, Contents{}, fmt.Errorf("read what is in %s: %w", s.name, err)
	}
	return now.Config, now.Revision, c, nil
}

func readContents(tx *bolt.Tx) (c Contents, err error) {
	err = eachRecord(tx, certificatesBucket, func(_ []byte, v Certificate) { c.Certificates = append(c.Certificates, v) })
	if err == nil {
		err = eachRecord(tx, authoritiesBucket, func(_ []byte, v Authority) { c.Authorities = append(c.Authorities, v) })
	}
	if err == nil {
		err = eachRecord(tx, keysBucket, func(_ []byte, v keyEntry) { c.Keys = append(c.Keys, v) })
	}
	if err == nil {
		err = eachRecord(tx, documentsBucket, func(k []byte, v json.RawMessage) {
			if !ofHistory(string(k)) {
				c.Documents = append(c.Documents, StoredDocument{string(k), v})
			}
		})
	}
	if err != nil {
		return c, err
	}
	return c, tx.Bucket(settingsBucket).ForEach(func(k, v []byte) error {
		c.Settings = append(c.Settings, StoredSetting{string(k), string(v)})
		return nil
	})
}

func eachRecord[T any](tx *bolt.Tx, bucket []byte, do func(name []byte, value T)) error {
	return tx.Bucket(bucket).ForEach(func(k, v []byte) error {
		var one T
		if err := unseal(v, &one); err != nil {
			return fmt.Errorf("%w: %s %q: %w", ErrCorrupt, bucket, k, err)
		}
		do(k, one)
		return nil
	})
}

// Replacement describes the new contents of a store.
type Replacement struct {
	// Merge returns the new contents from the current ones. It runs within the transaction, so that
	// no other write is lost. It must not call the store.
	Merge func(now Contents) (Contents, error)
	// Forget deletes the previous history and its documents.
	Forget bool
	// Freeze is set if documents and settings are replaced that other packages have loaded. They
	// would overwrite the new ones with the old. So these writes fail with ErrRestored until the
	// store is opened again, except for documents for which Freeze returns false.
	Freeze func(document string) bool
}

// Restore is a Commit that also replaces all other data in the same transaction. After an error
// or a crash either everything is new or nothing has changed. Other packages do not reread data
// that they have loaded.
func (s *Store) Restore(cfg *farm.Config, meta Meta, r Replacement) (Revision, error) {
	s.write.Lock()
	defer s.write.Unlock()
	// The transaction reads the new keys, because a failure after it would be reported as an unchanged store.
	var keys []keyEntry
	var unsettled []Damage
	rev, err := s.commit(cfg, meta, r.Forget, func(tx *bolt.Tx) error {
		now, err := readContents(tx)
		if err != nil {
			return err
		}
		contents, err := r.Merge(now)
		if err != nil {
			return err
		}
		history, err := historyDocuments(tx)
		if err == nil {
			err = contents.put(tx)
		}
		if err == nil {
			err = putSettings(tx, meta.Settings)
		}
		switch {
		case err != nil:
		case r.Forget:
			err = deleteBefore(tx.Bucket(revisionsBucket), ^uint64(0), nil)
		default:
			delete(history, damageDocument) // the lost data is restored
			err = history.put(tx)
		}
		if err == nil {
			unsettled = readDamages(tx)
			keys, err = readKeys(tx)
		}
		return err
	})
	if err != nil {
		return Revision{}, err
	}
	s.damages.Store(&unsettled)
	s.keys.Store(&keys)
	if r.Freeze != nil {
		s.frozen = r.Freeze
	}
	return rev, nil
}

// put replaces the contents of the store.
func (c *Contents) put(tx *bolt.Tx) error {
	sequence := tx.Bucket(keysBucket).Sequence()
	for _, name := range [][]byte{certificatesBucket, authoritiesBucket, keysBucket, settingsBucket, documentsBucket} {
		if err := tx.DeleteBucket(name); err != nil {
			return err
		}
		if _, err := tx.CreateBucket(name); err != nil {
			return err
		}
	}
	keys := tx.Bucket(keysBucket)
	for i := range c.Keys {
		k := &c.Keys[i]
		sequence = max(sequence, k.ID)
		if err := putRecord(keys, numberKey(k.ID), k); err != nil {
			return err
		}
	}
	if err := keys.SetSequence(sequence); err != nil { // a number identifies one key for ever
		return err
	}
	for i := range c.Certificates {
		if err := putRecord(tx.Bucket(certificatesBucket), []byte(c.Certificates[i].Name), &c.Certificates[i]); err != nil {
			return err
		}
	}
	for i := range c.Authorities {
		if err := putRecord(tx.Bucket(authoritiesBucket), []byte(c.Authorities[i].Name), &c.Authorities[i]); err != nil {
			return err
		}
	}
	for _, d := range c.Documents {
		if ofHistory(d.Name) { // of another store
			continue
		}
		if err := putRecord(tx.Bucket(documentsBucket), []byte(d.Name), d.Value); err != nil {
			return err
		}
	}
	for _, v := range c.Settings {
		if err := tx.Bucket(settingsBucket).Put([]byte(v.Name), []byte(v.Value)); err != nil {
			return err
		}
	}
	return nil
}

// HistoryPrefix begins the names of documents about revisions of this store. They are neither
// backed up nor replaced by a backup.
const HistoryPrefix = "history-"

func ofHistory(name string) bool { return strings.HasPrefix(name, HistoryPrefix) }

// sealedDocuments are records by name.
type sealedDocuments map[string][]byte

func historyDocuments(tx *bolt.Tx) (sealedDocuments, error) {
	out := sealedDocuments{}
	return out, tx.Bucket(documentsBucket).ForEach(func(k, v []byte) error {
		if ofHistory(string(k)) {
			out[string(k)] = bytes.Clone(v)
		}
		return nil
	})
}

func (d sealedDocuments) put(tx *bolt.Tx) error {
	for name, record := range d {
		if err := tx.Bucket(documentsBucket).Put([]byte(name), record); err != nil {
			return err
		}
	}
	return nil
}
