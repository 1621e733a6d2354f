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
	// Source is the door the change came through: api, cli, file …
	Source  string `json:"source"`
	Comment string `json:"comment,omitempty"`
	// Diff is the unified difference of the document to the revision before.
	Diff string `json:"diff,omitempty"`
	// DiffOmitted says that Diff is not stored because it is long. Store.Diff makes it, as
	// long as the revision before is kept. In a list it says that Get may have it.
	DiffOmitted bool `json:"diff_omitted,omitempty"`
}

// maxDiff is how long a difference is stored, in bytes. That of a zone of a million records is
// longer than the zone. maxKeptDiff is that of revisions that have a tag, of which there are
// few: those before them go.
const (
	maxDiff     = 1 << 20
	maxKeptDiff = 16 << 20
)

// shorten omits a difference that is longer than so many bytes.
func (r *Revision) shorten(most int) {
	if len(r.Diff) > most {
		r.Diff, r.DiffOmitted = "", true
	}
}

// Meta is what the author of a change says about it.
type Meta struct {
	Author, Source, Comment string
	// Time is when it was made; zero means now.
	Time time.Time
	// Diff is the difference of the documents to the revision before, for who knows
	// it already: it takes long for many farms. "" has the store compare.
	Diff string
	// Documents are written in the same step, by name; nil removes one.
	Documents map[string]any
}

// Commit writes cfg as the next revision and makes it the current one. It
// returns after the disk confirmed; on an error the store is as it was, except
// for ErrDiskFailed. Every object must have its ID (GiveIDs). cfg belongs to
// the store afterwards and must not be changed.
func (s *Store) Commit(cfg *farm.Config, meta Meta) (Revision, error) {
	s.write.Lock()
	defer s.write.Unlock()
	return s.commit(cfg, meta, false, func(tx *bolt.Tx) error { return putDocuments(tx, meta.Documents) })
}

// commit does also first, in the same transaction; the caller holds s.write. anew is
// for a revision that is to be read without those before it.
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
	now.Diff = "" // it lies in the revision, Current has no use for it
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

// Ready returns why the disk could not take a revision now, as far as it tells
// beforehand. Who asks before a change is carried out does not have to take it back.
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
		return nil // the write will fail with the reason
	}
	if err := disk.Room(s.name, uint64(max(0, need-free))); err != nil {
		return fmt.Errorf("write revision %d to %s: %w", s.current.Load().Number+1, s.name, err)
	}
	return nil
}

const (
	// copies is how many times the size of the newest revision the next one may
	// need: it may be larger, and what is replaced is given back afterwards.
	copies = 4
	// headRoom is what lies around it, in bytes.
	headRoom = 128 << 10
)

// Amend keeps cfg as what the newest revision is now: it has the same document,
// and knows other addresses of names. Records of large farms must be the same: later revisions
// edit them. cfg belongs to the store afterwards.
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

// prune removes what is older than the kept revisions, up to the whole
// configuration the oldest kept one is built on. Revisions with a tag stay.
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

// deleteBefore removes the entries with numbers below n, but those that are kept;
// nil: none is.
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

// update runs one synced transaction. number is the revision it writes, 0 for
// none: when the transaction failed and the file shows it nevertheless, the
// disk took the pages but did not confirm them, and nothing is sure any more.
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
	case errors.Is(err, errTorn): // bbolt keeps its locks, another change would wait for ever
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

// History returns at most limit revisions with a number below before (0: from
// the newest on), newest first. Older ones than the kept thousand are gone, but
// those with a tag. Differences that are long are left out (Get has them), and those of
// layout 4 are, of which nobody knows how long they are.
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
				k, v = c.Last() // Seek left the last place
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

// Get returns one kept revision and its configuration; ErrNotFound when it
// never was or is no longer kept. Number 0 is the empty configuration.
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

// unread says what to do about an error of reading a revision: one whose checksum is right
// and that cannot be read says nothing about others.
func (s *Store) unread(err error) error {
	switch {
	case err == nil, errors.Is(err, ErrNotFound), errors.Is(err, errTorn), errors.Is(err, bolterrors.ErrDatabaseNotOpen):
		return err
	case errors.Is(err, errRecord):
		return damaged(s.name, fmt.Errorf("%w: %w", ErrCorrupt, err))
	}
	return &unreadable{s.name, err}
}

// unreadable is the error of a revision that cannot be read while others can. It is
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

// Diff returns the unified difference of the documents of two revisions.
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
