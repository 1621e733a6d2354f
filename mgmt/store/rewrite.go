package store

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	bolt "go.etcd.io/bbolt"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/mgmt/document"
)

// RewriteChecks applies edit to the checks of the current configuration and of every kept
// revision, in one transaction and in place. It writes no revision and recomputes the stored
// differences. Its purpose is the removal of passwords from commands. The document named done
// marks it as done, so that it runs once. n is the number of changed revisions. Free pages of
// the file may hold the old data until they are reused.
func (s *Store) RewriteChecks(done string, edit func([]farm.Check) error) (n int, err error) {
	s.write.Lock()
	defer s.write.Unlock()
	var before bool
	if before, err = s.ReadDocument(done, new(bool)); err != nil || before {
		return 0, err
	}
	old := s.current.Load()
	cfg := *old.Config
	cfg.Checks = slices.Clone(cfg.Checks)
	if err := edit(cfg.Checks); err != nil {
		return 0, err
	}
	now, parts := &snapshot{Revision: old.Revision, Config: &cfg}, s.parts
	err = s.update(0, func(tx *bolt.Tx) error {
		w := &rewriter{revisions: tx.Bucket(revisionsBucket), edit: edit}
		if err := w.all(); err != nil {
			return err
		}
		if n = w.changed; !slices.Equal(cfg.Checks, old.Config.Checks) {
			var err error
			if parts, err = putParts(tx, now, s.parts, compare(old.Config, &cfg)); err != nil {
				return err
			}
		}
		return putDocuments(tx, map[string]any{done: true})
	})
	if err != nil {
		return 0, fmt.Errorf("write to %s: %w", s.name, err)
	}
	s.parts = parts
	s.current.Store(now)
	return n, nil
}

// rewriter changes one revision after another, oldest first.
type rewriter struct {
	revisions *bolt.Bucket
	edit      func([]farm.Check) error
	changed   int
	// last is the rewritten configuration of the previous revision, number its number; nil if
	// that is not kept.
	last   *farm.Config
	number uint64
	dirty  bool // the checks of that one or of this one were changed
}

func (w *rewriter) all() error {
	w.last = &farm.Config{} // revision 0
	var keys [][]byte
	c := w.revisions.Cursor()
	for k, _ := c.First(); k != nil; k, _ = c.Next() {
		keys = append(keys, slices.Clone(k))
	}
	for _, k := range keys {
		if err := w.one(k); err != nil {
			return err
		}
	}
	return nil
}

func (w *rewriter) one(k []byte) error {
	var e entry
	if err := unsealRevision(w.revisions.Get(k), &e); err != nil {
		return fmt.Errorf("revision %d: %w", binary.BigEndian.Uint64(k), err)
	}
	follows := w.last != nil && w.number+1 == e.Number
	was := w.dirty && follows
	if e.Change.Checks != nil {
		checks := slices.Clone(*e.Change.Checks)
		if err := w.edit(checks); err != nil {
			return err
		}
		w.dirty = !slices.Equal(checks, *e.Change.Checks)
		e.Change.Checks = &checks
	}
	cfg, err := w.configuration(&e, follows)
	if err != nil {
		return err
	}
	diff := e.Diff
	switch {
	case !strings.Contains(diff, commandField):
	case !follows || cfg == nil:
		if diff, err = w.hidden(diff); err != nil {
			return err
		}
	case was || w.dirty:
		diff = document.Diff(w.last, cfg)
	}
	changed := diff != e.Diff || w.dirty && e.Change.Checks != nil
	e.Diff, w.last, w.number = diff, cfg, e.Number
	if !changed {
		return nil
	}
	w.changed++
	return putRevision(w.revisions, &e)
}

// configuration returns the configuration of a revision, nil if it is built on one not kept.
func (w *rewriter) configuration(e *entry, follows bool) (*farm.Config, error) {
	switch {
	case e.Change.Whole:
		return e.Change.applyTo(&farm.Config{})
	case !follows:
		return nil, nil
	}
	cfg, err := e.Change.applyTo(w.last)
	if err != nil {
		err = errors.Join(ErrCorrupt, err)
	}
	return cfg, err
}

// commandField begins the line of a command in a document.
const commandField = "command: "

// hidden masks the commands that edit would change in a difference to a deleted revision.
func (w *rewriter) hidden(diff string) (string, error) {
	lines := strings.SplitAfter(diff, "\n")
	for i, line := range lines {
		before, text, is := strings.Cut(line, commandField)
		if !is || strings.Trim(before, " +-") != "" {
			continue
		}
		text = plainText(strings.TrimSuffix(text, "\n"))
		one := []farm.Check{{Command: text}}
		if err := w.edit(one); err != nil {
			return "", err
		}
		if one[0].Command != text {
			lines[i] = before + commandField + "'***'\n"
		}
	}
	return strings.Join(lines, ""), nil
}

// plainText returns the text of a one-line YAML scalar in a document: in double quotes or
// plain.
func plainText(yaml string) string {
	if text, err := strconv.Unquote(yaml); err == nil {
		return text
	}
	return yaml
}
