package store

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	bolt "go.etcd.io/bbolt"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/mgmt/document"
)

// Tag is a name of a revision. A revision with a tag is kept for any number of later ones.
type Tag struct {
	Name     string    `json:"name"`
	Revision uint64    `json:"revision"`
	Time     time.Time `json:"time"`
	Author   string    `json:"author"`
	Comment  string    `json:"comment,omitempty"`
}

// MaxTags is the maximum number of tags: each may keep a whole configuration.
const MaxTags = 100

// The errors of tags, besides ErrNotFound.
var (
	// ErrTagged: another revision has that name.
	ErrTagged = errors.New("the tag exists already")
	// ErrTooManyTags: there are MaxTags already.
	ErrTooManyTags = fmt.Errorf("there are %d tags already", MaxTags)
)

// tagsDocument is the document that stores the tags.
const tagsDocument = HistoryPrefix + "tags"

// tags are all tags by name.
type tags map[string]Tag

func readTags(tx *bolt.Tx) (tags, error) {
	record := tx.Bucket(documentsBucket).Get([]byte(tagsDocument))
	if record == nil {
		return tags{}, nil
	}
	var all tags
	if err := unseal(record, &all); err != nil {
		return nil, fmt.Errorf("the tags of the history: %w", err)
	}
	return all, nil
}

// at reports whether a revision has a tag.
func (t tags) at(number uint64) bool {
	for _, one := range t {
		if one.Revision == number {
			return true
		}
	}
	return false
}

// Tags returns the tags in descending order of revisions, then of times.
func (s *Store) Tags() ([]Tag, error) {
	var all tags
	err := s.view(func(tx *bolt.Tx) (err error) {
		all, err = readTags(tx)
		return err
	})
	if errors.Is(err, errRecord) {
		err = damaged(s.name, fmt.Errorf("%w: %w", ErrCorrupt, err))
	}
	return slices.SortedFunc(maps.Values(all), func(x, y Tag) int {
		if x.Revision != y.Revision {
			return int(y.Revision) - int(x.Revision)
		}
		return y.Time.Compare(x.Time)
	}), err
}

// AddTag gives a kept revision a name. From then on the revision holds the whole configuration,
// and its difference up to maxKeptDiff, so that it does not depend on earlier ones. Errors are
// ErrNotFound, ErrTagged, ErrTooManyTags, or from the disk.
func (s *Store) AddTag(t Tag) error {
	return s.changeTags(func(revisions *bolt.Bucket, all tags) error {
		if was, taken := all[t.Name]; taken {
			return fmt.Errorf("%w: %s is revision %d", ErrTagged, was.Name, was.Revision)
		}
		if len(all) >= MaxTags {
			return ErrTooManyTags
		}
		cfg, rev, err := read(revisions, t.Revision)
		if err != nil {
			return s.unread(err)
		}
		if rev.DiffOmitted {
			rev.Diff, rev.DiffOmitted = differenceTo(cfg, revisions, rev.Number-1)
		}
		all[t.Name] = t
		return putRevision(revisions, &entry{rev, whole(cfg)})
	})
}

// differenceTo returns a difference that was not stored. It is omitted if the previous revision
// is missing or unreadable. Revision 0 counts as missing because Diff can always compute from
// it.
func differenceTo(cfg *farm.Config, revisions records, before uint64) (diff string, omitted bool) {
	old, _, err := read(revisions, before)
	if err != nil {
		return "", true
	}
	return document.Diff(old, cfg), false
}

// DeleteTag removes the name from a revision, which the next change may delete if it is old. It
// returns ErrNotFound if there is no such tag.
func (s *Store) DeleteTag(name string) error {
	return s.changeTags(func(_ *bolt.Bucket, all tags) error {
		if _, there := all[name]; !there {
			return fmt.Errorf("the tag %q: %w", name, ErrNotFound)
		}
		delete(all, name)
		return nil
	})
}

func (s *Store) changeTags(edit func(revisions *bolt.Bucket, all tags) error) error {
	s.write.Lock()
	defer s.write.Unlock()
	err := s.update(0, func(tx *bolt.Tx) error {
		all, err := readTags(tx)
		if err == nil {
			err = edit(tx.Bucket(revisionsBucket), all)
		}
		if err == nil {
			err = putDocuments(tx, map[string]any{tagsDocument: all})
		}
		return err
	})
	switch {
	case err == nil, errors.Is(err, ErrNotFound), errors.Is(err, ErrTagged), errors.Is(err, ErrTooManyTags), errors.Is(err, ErrCorrupt):
		return err
	case errors.Is(err, errRecord):
		return damaged(s.name, fmt.Errorf("%w: %w", ErrCorrupt, err))
	}
	return fmt.Errorf("write the tags to %s: %w", s.name, err)
}
