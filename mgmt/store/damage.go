package store

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	bolt "go.etcd.io/bbolt"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/mgmt/disk"
)

// Damage is damage of the file that was found and repaired while the store was opened.
type Damage struct {
	Time time.Time `json:"time"`
	// File is the damaged file, in the data directory. Its removal settles the damage.
	File string `json:"file"`
	// Reason is the first fault found.
	Reason string `json:"reason"`
	// Lost lists the unreadable data; it is empty if everything was read.
	Lost []string `json:"lost,omitempty"`
}

// damageDocument is the document with the damages. It concerns this file, so backups omit it.
const damageDocument = HistoryPrefix + "damage"

// maxAside is the maximum number of damaged files that are kept: a failing disk may cause one
// at every start.
const maxAside = 3

// Damages returns the unsettled damages, oldest first. A restored backup settles all; an
// operator settles one by removing its file.
func (s *Store) Damages() []Damage {
	all := s.damages.Load()
	if all == nil {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(*all), func(d Damage) bool {
		_, err := os.Lstat(filepath.Join(filepath.Dir(s.path), d.File))
		return errors.Is(err, fs.ErrNotExist)
	})
}

// readDamages returns the damages. An unreadable list is ignored.
func readDamages(tx *bolt.Tx) (all []Damage) {
	if record := tx.Bucket(documentsBucket).Get([]byte(damageDocument)); record != nil && unseal(record, &all) != nil {
		all = nil
	}
	return all
}

// Repaired returns the damage found while this store was opened, or nil.
func (s *Store) Repaired() *Damage { return s.repaired }

// String returns the event and its remedy in one paragraph.
func (d Damage) String() string {
	lost := "Nothing is lost."
	if len(d.Lost) > 0 {
		lost = "Lost: " + strings.Join(d.Lost, "; ") + ". `sluice backup apply` brings back what a backup has."
	}
	return fmt.Sprintf("the store was damaged and was repaired at %s (%s). %s The damaged file is %s in the data directory: remove it to settle this",
		d.Time.Format(time.RFC3339), d.Reason, lost, d.File)
}

// replace writes the salvaged data to a new file that replaces the damaged one, which is
// renamed. The caller holds the lock of the damaged file.
func (s *Store) replace(v *salvaged, d Damage) error {
	d.File = s.asideName(d.Time)
	made := fmt.Sprintf("%s.%d.new", s.path, os.Getpid())
	_ = os.Remove(made) // left by a process with our PID that died
	defer os.Remove(made)
	db, err := bolt.Open(made, 0o600, &bolt.Options{Timeout: lockWait})
	if err != nil {
		return err
	}
	err = db.Update(func(tx *bolt.Tx) error { return v.write(tx, d) })
	if err = errors.Join(err, db.Close()); err != nil {
		return fmt.Errorf("write what is left of the damaged store: %w", err)
	}
	if err := disk.Link(s.path, filepath.Join(filepath.Dir(s.path), d.File)); err != nil {
		return err
	}
	if err := os.Rename(made, s.path); err != nil {
		return err
	}
	s.repaired = &d
	return s.sweepAside()
}

const asideMark = ".damaged-"

func (s *Store) asideName(at time.Time) string {
	base := FileName + asideMark + at.Format("20060102-150405")
	name := base
	for n := 2; ; n++ {
		if _, err := os.Lstat(filepath.Join(filepath.Dir(s.path), name)); err != nil {
			return name
		}
		name = fmt.Sprintf("%s-%d", base, n)
	}
}

// sweepAside removes the oldest damaged files.
func (s *Store) sweepAside() error {
	names, err := filepath.Glob(s.path + asideMark + "*")
	if err != nil || len(names) <= maxAside {
		return err
	}
	slices.Sort(names)
	for _, name := range names[:len(names)-maxAside] {
		if err := os.Remove(name); err != nil {
			return err
		}
	}
	return nil
}

// write fills a new file.
func (v *salvaged) write(tx *bolt.Tx, d Damage) error {
	if err := v.settleCurrent(); err != nil {
		return err
	}
	for _, name := range buckets {
		b, err := tx.CreateBucket(name)
		if err != nil {
			return err
		}
		part := v.parts[string(name)]
		for _, k := range slices.Sorted(maps.Keys(part)) {
			if len(k) == 0 || len(k) > bolt.MaxKeySize {
				continue
			}
			if err := b.Put([]byte(k), part[k]); err != nil {
				return err
			}
		}
		sequence := v.sequences[string(name)]
		if string(name) == string(keysBucket) { // a number identifies one key for ever
			sequence = max(sequence, highestOf(part))
		}
		if err := b.SetSequence(sequence); err != nil {
			return err
		}
	}
	if v.layout == schemaVersion && v.now.Number > 0 {
		if _, err := putParts(tx, v.now, heldParts{}, compare(&farm.Config{}, v.now.Config)); err != nil {
			return err
		}
	}
	c := v.cursorsOf()
	if err := c.save(tx.Bucket(metaBucket)); err != nil {
		return err
	}
	if err := v.writeDamage(tx, d); err != nil {
		return err
	}
	if v.layout < schemaVersion { // a migration follows
		return nil
	}
	return writeSummary(tx)
}

// settleCurrent keeps only the record of the newest revision, in layouts that have one. In this
// layout all parts are written again.
func (v *salvaged) settleCurrent() error {
	current := v.parts[string(currentBucket)]
	if v.layout == schemaVersion {
		clear(current)
		for _, name := range partBuckets {
			clear(v.parts[string(name)])
		}
		return nil
	}
	key := string(numberKey(v.now.Number))
	if v.now.Number > 0 && !v.kept {
		record, err := v.newest()
		if err != nil {
			return err
		}
		current[key] = record
	}
	maps.DeleteFunc(current, func(k string, record []byte) bool { return record == nil || k != key })
	return nil
}

// newest returns the record of the newest revision in the layout of the file.
func (v *salvaged) newest() ([]byte, error) {
	if v.layout < 5 {
		return seal(&wholeRevision{v.now.Revision, v.now.Config})
	}
	return sealRevision(v.now.entry(), nil)
}

func (v *salvaged) writeDamage(tx *bolt.Tx, d Damage) error {
	b := tx.Bucket(documentsBucket)
	var all []Damage
	if record := b.Get([]byte(damageDocument)); record != nil && unseal(record, &all) != nil {
		all = nil
	}
	all = append(all, d)
	return putRecord(b, []byte(damageDocument), all[max(0, len(all)-maxAside):])
}
