package store

import (
	"encoding/binary"
	"errors"
	"fmt"
	"time"

	bolt "go.etcd.io/bbolt"
	bolterrors "go.etcd.io/bbolt/errors"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/mgmt/disk"
	"github.com/sluicelb/sluice/mgmt/document"
)

// Revision describes one change. Numbers start at 1 and have no gaps.
type Revision struct {
	Number uint64    `json:"number"`
	Time   time.Time `json:"time"`
	Author string    `json:"author"`
	// Source is the interface of the change: api, cli, file …
	Source  string `json:"source"`
	Comment string `json:"comment,omitempty"`
	// Diff is the unified diff of the document to the previous revision.
	Diff string `json:"diff,omitempty"`
	// DiffOmitted means that Diff is too long to be stored. Store.Diff computes it while the
	// previous revision is kept. In a list it means that Get may have it.
	DiffOmitted bool `json:"diff_omitted,omitempty"`
}

// maxDiff is the maximum length of a stored difference in bytes; for a zone with a million
// records it would be longer than the zone. For revisions with a tag, which are few and lose
// their predecessors, the limit is maxKeptDiff.
const (
	maxDiff     = 1 << 20
	maxKeptDiff = 16 << 20
)

// shorten omits a difference of more than most bytes.
func (r *Revision) shorten(most int) {
	if len(r.Diff) > most {
		r.Diff, r.DiffOmitted = "", true
	}
}

// Meta is the author's information about a change.
type Meta struct {
	Author, Source, Comment string
	// Time is the time of the change; zero means now.
	Time time.Time
	// Diff is the difference to the previous revision if the caller knows it, because computing
	// it takes long for many farms. With "" the store computes it.
	Diff string
	// Documents are written in the same transaction, by name; nil removes one.
	Documents map[string]any
	// Settings are changed in the same transaction, by name. Each function gets the stored value, ""
	// for none, and returns the new one. In a Restore that is the restored value.
	Settings map[string]func(stored string) string
}

// Commit writes cfg as the next revision and makes it the current one. It returns after the
// disk confirmed. After an error nothing has changed, except for ErrDiskFailed. Every object
// must have its ID (GiveIDs). cfg belongs to the store afterwards and must not be modified.
func (s *Store) Commit(cfg *farm.Config, meta Meta) (Revision, error) {
	s.write.Lock()
	defer s.write.Unlock()
	return s.commit(cfg, meta, false, func(tx *bolt.Tx) error {
		return errors.Join(putDocuments(tx, meta.Documents), putSettings(tx, meta.Settings))
	})
}

// commit runs also first in the same transaction; the caller holds s.write. anew writes a whole
// revision that is readable without its predecessors.
func (s *Store) commit(cfg *farm.Config, meta Meta, anew bool, also func(*bolt.Tx) error) (Revision, error) {
	if len(cfg.Certificates) > 0 || len(cfg.Authorities) > 0 {
		return Revision{}, errors.New("a revision holds no certificates: they belong into snapshots only")
	}
	old := s.current.Load()
	steps := compare(old.Config, cfg)
	if err := steps.checkIDs(); err != nil {
		return Revision{}, err
	}
	rev := Revision{Number: old.Number + 1, Time: meta.Time, Author: meta.Author, Source: meta.Source,
		Comment: meta.Comment, Diff: meta.Diff}
	if rev.Diff == "" {
		rev.Diff = document.Diff(old.Config, cfg)
	}
	if rev.Time.IsZero() {
		rev.Time = time.Now()
	}
	rev.Time = rev.Time.UTC().Round(0)
	e := entry{Revision: rev}
	if anew || rev.Number%keyframeEvery == 1 {
		e.Change = whole(cfg)
	} else {
		e.Change = steps.change()
	}
	now := &snapshot{Revision: rev, Config: cfg}
	now.Diff = "" // it is in the revision, and Current does not return it
	var parts heldParts
	err := s.update(rev.Number, func(tx *bolt.Tx) (err error) {
		if err := also(tx); err != nil {
			return err
		}
		parts, err = s.put(tx, &e, now, steps)
		return err
	})
	if err != nil {
		return Revision{}, fmt.Errorf("write revision %d to %s: %w", rev.Number, s.name, err)
	}
	s.parts = parts
	s.current.Store(now)
	return rev, nil
}

// Ready returns an error if the disk cannot take a revision now, as far as that can be
// predicted. A caller that checks it before a change need not revert the change.
func (s *Store) Ready() error {
	s.write.Lock()
	defer s.write.Unlock()
	if s.failed != nil {
		return s.failed
	}
	need, free := copies*s.parts.size+headRoom, int64(0)
	if s.view(func(tx *bolt.Tx) error {
		free = int64(tx.DB().Stats().FreePageN) * int64(tx.DB().Info().PageSize)
		return nil
	}) != nil {
		return nil // the write will report the reason
	}
	if err := disk.Room(s.name, uint64(max(0, need-free))); err != nil {
		return fmt.Errorf("write revision %d to %s: %w", s.current.Load().Number+1, s.name, err)
	}
	return nil
}

const (
	// copies is the space that the next revision may need, as a multiple of the newest one's
	// size. It may be larger, and replaced pages are freed afterwards.
	copies = 4
	// headRoom is the overhead in bytes.
	headRoom = 128 << 10
)

// Amend replaces the configuration of the newest revision by cfg, which has the same document
// but other addresses of names. Records of large farms must be the same, because later
// revisions edit them. cfg belongs to the store afterwards.
func (s *Store) Amend(cfg *farm.Config) error {
	if err := checkIDs(cfg); err != nil {
		return err
	}
	s.write.Lock()
	defer s.write.Unlock()
	old := s.current.Load()
	now := &snapshot{Revision: old.Revision, Config: cfg}
	steps := compare(old.Config, cfg)
	if !steps.keepRecords() {
		return errors.New("amend: records of a large zone are not those of the newest revision")
	}
	var parts heldParts
	err := s.update(0, func(tx *bolt.Tx) (err error) {
		if parts, err = putParts(tx, now, s.parts, steps); err != nil {
			return err
		}
		return s.cursors.save(tx.Bucket(metaBucket))
	})
	if err != nil {
		return fmt.Errorf("write to %s: %w", s.path, err)
	}
	s.parts = parts
	s.current.Store(now)
	return nil
}

func (s *Store) put(tx *bolt.Tx, e *entry, now *snapshot, steps *comparison) (heldParts, error) {
	revisions := tx.Bucket(revisionsBucket)
	parts, err := putParts(tx, now, s.parts, steps)
	if err != nil {
		return heldParts{}, err
	}
	if err := deleteBefore(tx.Bucket(currentBucket), e.Number, nil); err != nil {
		return heldParts{}, err
	}
	e.shorten(maxDiff)
	record, err := sealRevision(e, piecesOf(tx, parts, steps, e.Change.Whole))
	if err != nil {
		return heldParts{}, err
	}
	if err := revisions.Put(numberKey(e.Number), record); err != nil {
		return heldParts{}, err
	}
	if err := s.cursors.save(tx.Bucket(metaBucket)); err != nil {
		return heldParts{}, err
	}
	return parts, s.prune(tx, revisions, e.Number)
}

// prune removes revisions older than the kept ones, up to the whole configuration on which the
// oldest kept one is built. Revisions with a tag stay.
func (s *Store) prune(tx *bolt.Tx, revisions *bolt.Bucket, newest uint64) error {
	if newest <= s.keep {
		return nil
	}
	tags, err := readTags(tx)
	if err != nil {
		return err
	}
	oldest := newest - s.keep + 1
	return deleteBefore(revisions, oldest-(oldest-1)%keyframeEvery, tags.at)
}

// deleteBefore removes the entries with numbers below n for which kept returns false; nil
// removes all.
func deleteBefore(b *bolt.Bucket, n uint64, kept func(uint64) bool) error {
	var gone [][]byte
	c := b.Cursor()
	for k, _ := c.First(); k != nil; k, _ = c.Next() {
		if number, err := keyNumber(k); err != nil || number >= n {
			break
		} else if kept == nil || !kept(number) {
			gone = append(gone, k)
		}
	}
	for _, k := range gone {
		if err := b.Delete(k); err != nil {
			return err
		}
	}
	return nil
}

// update runs one synced transaction. number is the revision it writes, 0 for none. If the
// transaction failed but the file shows the revision, the disk accepted the pages without
// confirming them, and the state is unknown.
func (s *Store) update(number uint64, change func(*bolt.Tx) error) error {
	if s.failed != nil {
		return s.failed
	}
	err := contained(func() error {
		return s.db.Update(func(tx *bolt.Tx) error {
			if err := change(tx); err != nil {
				return err
			}
			return writeSummary(tx)
		})
	})
	switch {
	case err == nil:
		return nil
	case errors.Is(err, errTorn): // bbolt keeps its locks, and another change would block for ever
		s.failed = s.whileOpen(err)
		return s.failed
	}
	shown := false
	viewErr := s.view(func(tx *bolt.Tx) error {
		shown = number != 0 && tx.Bucket(revisionsBucket).Get(numberKey(number)) != nil
		return nil
	})
	if shown || (viewErr != nil && !errors.Is(viewErr, bolterrors.ErrDatabaseNotOpen)) {
		s.failed = fmt.Errorf("%w (%w): check the disk, then restart sluice", ErrDiskFailed, err)
		return s.failed
	}
	return disk.Explain(s.name, err)
}

// History returns at most limit revisions with a number below before (0: from the newest on),
// newest first. Older ones than the kept thousand are deleted unless they have a tag. Long
// differences are omitted (see Get), and so are all differences of layout 4, whose length is
// unknown.
func (s *Store) History(limit int, before uint64) ([]Revision, error) {
	var out []Revision
	var heads headReader
	err := s.view(func(tx *bolt.Tx) error {
		c := tx.Bucket(revisionsBucket).Cursor()
		k, v := c.Last()
		if before != 0 {
			if at, _ := c.Seek(numberKey(before)); at != nil {
				k, v = c.Prev()
			} else {
				k, v = c.Last() // Seek left the last position
			}
		}
		for ; k != nil && len(out) < limit; k, v = c.Prev() {
			var r Revision
			if err := heads.read(v, &r); err != nil {
				return s.unread(fmt.Errorf("the history: revision %d: %w", binary.BigEndian.Uint64(k), err))
			}
			r.shorten(maxDiff)
			out = append(out, r)
		}
		return nil
	})
	return out, err
}

// Get returns a kept revision and its configuration, or ErrNotFound. Number 0 is the empty
// configuration.
func (s *Store) Get(number uint64) (*farm.Config, Revision, error) {
	if number == 0 {
		return &farm.Config{}, Revision{}, nil
	}
	var cfg *farm.Config
	var rev Revision
	err := s.view(func(tx *bolt.Tx) error {
		var err error
		cfg, rev, err = read(tx.Bucket(revisionsBucket), number)
		return err
	})
	return cfg, rev, s.unread(err)
}

// unread adds the remedy to an error of reading a revision. A revision with a valid checksum
// that is unreadable does not affect others.
func (s *Store) unread(err error) error {
	switch {
	case err == nil, errors.Is(err, ErrNotFound), errors.Is(err, errTorn), errors.Is(err, bolterrors.ErrDatabaseNotOpen):
		return err
	case errors.Is(err, errRecord):
		return damaged(s.name, fmt.Errorf("%w: %w", ErrCorrupt, err))
	}
	return &unreadable{s.name, err}
}

// unreadable is the error of a revision that is unreadable while others are not. It is
// ErrCorrupt.
type unreadable struct {
	path string
	err  error
}

func (e *unreadable) Error() string {
	return fmt.Sprintf("%s: %v: this revision cannot be used, nor those that are built on it, at most the %d after it. "+
		"All others can, and the configuration in force is not concerned: restore a backup of that time if you need this one", e.path, e.err, keyframeEvery-1)
}

func (e *unreadable) Unwrap() []error { return []error{ErrCorrupt, e.err} }

// Diff returns the unified diff of the documents of two revisions.
func (s *Store) Diff(a, b uint64) (string, error) {
	old, _, err := s.Get(a)
	if err != nil {
		return "", err
	}
	new, _, err := s.Get(b)
	if err != nil {
		return "", err
	}
	return document.Diff(old, new), nil
}
