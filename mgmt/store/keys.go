package store

import (
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"fmt"
	"slices"
	"time"

	bolt "go.etcd.io/bbolt"
)

// Key describes an API key. Only the SHA-256 of its secret is stored. The secret is random and
// so long (40 of 62 characters, 238 bits) that it cannot be guessed from the hash. A slow hash
// would only slow down every request.
type Key struct {
	ID      uint64    `json:"id"`
	User    string    `json:"user"`
	Comment string    `json:"comment,omitempty"`
	Created time.Time `json:"created"`
}

type keyEntry struct {
	Key
	Hash []byte `json:"hash"`
}

// KeyLength is the number of characters of a key.
const KeyLength = 40

const keyAlphabet = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"

// CreateKey creates an API key for a user. The secret is returned only here.
func (s *Store) CreateKey(user, comment string) (secret string, key Key, err error) {
	secret = randomText(KeyLength)
	hash := sha256.Sum256([]byte(secret))
	e := keyEntry{Key{User: user, Comment: comment, Created: time.Now().UTC().Truncate(time.Second)}, hash[:]}
	err = s.changeKeys(func(b *bolt.Bucket) error {
		if e.ID, err = b.NextSequence(); err != nil {
			return err
		}
		return putRecord(b, numberKey(e.ID), &e)
	}, func(keys []keyEntry) []keyEntry { return append(keys, e) }) // the highest ID
	if err != nil {
		return "", Key{}, fmt.Errorf("create an API key in %s: %w", s.name, err)
	}
	return secret, e.Key, nil
}

// randomText returns uniformly random letters and digits: it discards bytes beyond the last
// whole multiple of the alphabet.
func randomText(n int) string {
	const limit = 256 - 256%len(keyAlphabet)
	out := make([]byte, 0, n)
	for len(out) < n {
		var buf [64]byte
		_, _ = rand.Read(buf[:]) // documented never to fail
		for _, b := range buf {
			if int(b) < limit && len(out) < n {
				out = append(out, keyAlphabet[int(b)%len(keyAlphabet)])
			}
		}
	}
	return string(out)
}

// FindKey returns the key with this secret. It compares all keys, so its time depends only on
// their number. It does not access the disk.
func (s *Store) FindKey(secret string) (Key, bool) {
	hash := sha256.Sum256([]byte(secret))
	keys := *s.keys.Load()
	found := -1
	for i := range keys {
		found = subtle.ConstantTimeSelect(subtle.ConstantTimeCompare(keys[i].Hash, hash[:]), i, found)
	}
	if found < 0 {
		return Key{}, false
	}
	return keys[found].Key, true
}

// Keys returns the keys, sorted by ID.
func (s *Store) Keys() []Key {
	keys := *s.keys.Load()
	out := make([]Key, len(keys))
	for i := range keys {
		out[i] = keys[i].Key
	}
	return out
}

// DeleteKey removes a key at once; ErrNotFound if it does not exist.
func (s *Store) DeleteKey(id uint64) error {
	err := s.changeKeys(func(b *bolt.Bucket) error {
		if b.Get(numberKey(id)) == nil {
			return ErrNotFound
		}
		return b.Delete(numberKey(id))
	}, func(keys []keyEntry) []keyEntry {
		return slices.DeleteFunc(keys, func(e keyEntry) bool { return e.ID == id })
	})
	if err != nil {
		return fmt.Errorf("delete API key %d: %w", id, err)
	}
	return nil
}

// changeKeys changes the keys of the file and then those in memory. It reads no key: if that failed, a
// deleted key would stay valid and the secret of a new one would be lost.
func (s *Store) changeKeys(change func(*bolt.Bucket) error, changed func(keys []keyEntry) []keyEntry) error {
	s.write.Lock()
	defer s.write.Unlock()
	if err := s.update(0, func(tx *bolt.Tx) error { return change(tx.Bucket(keysBucket)) }); err != nil {
		return err
	}
	keys := changed(slices.Clone(*s.keys.Load()))
	s.keys.Store(&keys)
	return nil
}

func readKeys(tx *bolt.Tx) ([]keyEntry, error) {
	keys := []keyEntry{}
	err := tx.Bucket(keysBucket).ForEach(func(k, v []byte) error {
		var e keyEntry
		if err := unseal(v, &e); err != nil {
			return fmt.Errorf("%w: an API key: %w", ErrCorrupt, err)
		}
		keys = append(keys, e)
		return nil
	})
	return keys, err
}
