package store

import (
	"errors"
	"time"

	"github.com/sluicelb/sluice/core/farm"
)

// The errors a caller may want to tell apart.
var (
	// ErrLocked: another process has the store open.
	ErrLocked = errors.New("store is in use by another process")
	// ErrCorrupt: the file is damaged or is no store.
	ErrCorrupt = errors.New("store is damaged")
	// ErrNewer: the file was written by a newer release.
	ErrNewer = errors.New("store was written by a newer release")
	// ErrNotFound: no such revision or key.
	ErrNotFound = errors.New("not found")
)

// Revision describes one change. Number 0 is the empty configuration before the first change.
type Revision struct {
	Number  uint64    `json:"number"`
	Time    time.Time `json:"time"`
	Author  string    `json:"author"`
	Source  string    `json:"source"` // api, cli, file, rollback …
	Comment string    `json:"comment,omitempty"`
	Diff    string    `json:"diff,omitempty"` // unified, of the document
}

// Meta is what the author of a change says about it.
type Meta struct {
	Author, Source, Comment string
	Time                    time.Time // zero means now
}

// Key describes an API key; the key itself is not kept.
type Key struct {
	ID      uint64    `json:"id"`
	User    string    `json:"user"`
	Comment string    `json:"comment,omitempty"`
	Created time.Time `json:"created"`
}

// Store is an open store.
type Store struct{}

// Open opens, creates or migrates the store in dir.
func Open(dir string) (*Store, error) { return nil, ErrCorrupt }

// Close releases the file.
func (s *Store) Close() error { return nil }

// Current returns the newest configuration, read-only and shared, and its revision.
func (s *Store) Current() (*farm.Config, Revision) { return nil, Revision{} }

// GiveIDs fills every zero ID of cfg.
func (s *Store) GiveIDs(cfg *farm.Config) error { return nil }

// Commit writes cfg as the next revision.
func (s *Store) Commit(cfg *farm.Config, meta Meta) (Revision, error) { return Revision{}, nil }

// History returns at most limit revisions with a number below before (0: from
// the newest on), newest first.
func (s *Store) History(limit int, before uint64) ([]Revision, error) { return nil, nil }

// Get returns one kept revision and its configuration.
func (s *Store) Get(number uint64) (*farm.Config, Revision, error) { return nil, Revision{}, nil }

// Diff returns the unified difference of two revisions' documents.
func (s *Store) Diff(a, b uint64) (string, error) { return "", nil }

// CreateKey makes an API key and returns it; it cannot be read again.
func (s *Store) CreateKey(user, comment string) (secret string, key Key, err error) {
	return "", Key{}, nil
}

// FindKey returns the key whose secret this is.
func (s *Store) FindKey(secret string) (Key, bool) { return Key{}, false }

// Keys lists the keys by ID.
func (s *Store) Keys() []Key { return nil }

// DeleteKey removes a key; ErrNotFound when there is none.
func (s *Store) DeleteKey(id uint64) error { return nil }

// Setting returns a node setting, "" and false when it was never set.
func (s *Store) Setting(name string) (string, bool) { return "", false }

// SetSetting keeps a node setting; an empty value is a value.
func (s *Store) SetSetting(name, value string) error { return nil }
