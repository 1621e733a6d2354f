package store

import (
	"fmt"

	bolt "go.etcd.io/bbolt"
)

// Setting returns a setting of this node; false if it was never set.
func (s *Store) Setting(name string) (value string, ok bool) {
	_ = s.view(func(tx *bolt.Tx) error { // fails only if the store is closed or damaged
		v := tx.Bucket(settingsBucket).Get([]byte(name))
		value, ok = string(v), v != nil
		return nil
	})
	return value, ok
}

// SetSetting stores a setting of this node; an empty value is valid. Settings are separate from
// the configuration: they are neither in revisions nor exported.
func (s *Store) SetSetting(name, value string) error {
	s.write.Lock()
	defer s.write.Unlock()
	err := ErrRestored
	if s.frozen == nil {
		err = s.update(0, func(tx *bolt.Tx) error {
			return tx.Bucket(settingsBucket).Put([]byte(name), []byte(value))
		})
	}
	if err != nil {
		return fmt.Errorf("write setting %q to %s: %w", name, s.name, err)
	}
	return nil
}

// putSettings changes settings within another transaction. Each function gets the stored value, ""
// if there is none, and returns the new one. Unchanged ones are not written.
func putSettings(tx *bolt.Tx, changes map[string]func(stored string) string) error {
	b := tx.Bucket(settingsBucket)
	for name, change := range changes {
		stored := string(b.Get([]byte(name)))
		value := change(stored)
		if value == stored {
			continue
		}
		if err := b.Put([]byte(name), []byte(value)); err != nil {
			return fmt.Errorf("the setting %q: %w", name, err)
		}
	}
	return nil
}
