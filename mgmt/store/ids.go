package store

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"

	bolt "go.etcd.io/bbolt"

	"github.com/sluicelb/sluice/core/farm"
)

// The kinds of objects that have IDs. Their names are the keys on disk. The group of backends
// of an l4xnat farm has an ID of the kind service.
const (
	farmKind = iota
	serviceKind
	backendKind
	kinds
)

var (
	kindNames = [kinds]string{"farm", "service", "backend"}
	maxIDs    = [kinds]uint32{farm.MaxFarmID, math.MaxUint32, farm.MaxBackendID}
)

// cursors are the last IDs given, by kind. They only increase and restart at 1 after the
// highest, so an ID is reused only after all others. Holders of an old one (a counter, a
// session) have time to notice.
type cursors [kinds]uint32

func (c *cursors) load(meta records) error {
	for kind, name := range kindNames {
		value := meta.Get([]byte(name))
		if value == nil {
			continue
		}
		if len(value) != 4 || binary.BigEndian.Uint32(value) > maxIDs[kind] {
			return fmt.Errorf("%w: the last ID of a %s is no number up to %d", ErrCorrupt, name, maxIDs[kind])
		}
		c[kind] = binary.BigEndian.Uint32(value)
	}
	return nil
}

func (c *cursors) save(meta *bolt.Bucket) error {
	for kind, name := range kindNames {
		if err := meta.Put([]byte(name), binary.BigEndian.AppendUint32(nil, c[kind])); err != nil {
			return err
		}
	}
	return nil
}

// GiveIDs gives every object of cfg without an ID one that neither cfg nor the current
// configuration has. IDs are not reused while the store is open, even if cfg is never
// committed; Commit stores the cursors.
func (s *Store) GiveIDs(cfg *farm.Config) error {
	s.write.Lock()
	defer s.write.Unlock()
	current := s.current.Load().Config
	if haveIDs(current, cfg) {
		return nil
	}
	live := liveIDs(cfg, current)
	return eachID(cfg, func(kind int, id *uint32) error {
		if *id != 0 {
			return nil
		}
		var err error
		*id, err = s.cursors.next(kind, live[kind])
		return err
	})
}

// haveIDs reports whether all objects of cfg have IDs. Those of current do.
func haveIDs(current, cfg *farm.Config) bool {
	for i, at := range farm.Align(current.Farms, cfg.Farms) {
		if at < 0 && eachIDOf(&cfg.Farms[i], func(_ int, id *uint32) error {
			if *id == 0 {
				return errNoID
			}
			return nil
		}) != nil {
			return false
		}
	}
	return true
}

var errNoID = errors.New("it has no number yet")

// next moves a cursor to the next free ID and marks it as live.
func (c *cursors) next(kind int, live map[uint32]bool) (uint32, error) {
	for range len(live) + 1 {
		if c[kind] >= maxIDs[kind] {
			c[kind] = 0
		}
		c[kind]++
		if id := c[kind]; !live[id] {
			live[id] = true
			return id, nil
		}
	}
	return 0, fmt.Errorf("no number is left for another %s: at most %d can exist", kindNames[kind], maxIDs[kind])
}

func liveIDs(configs ...*farm.Config) [kinds]map[uint32]bool {
	live := [kinds]map[uint32]bool{{}, {}, {}}
	for _, cfg := range configs {
		_ = eachID(cfg, func(kind int, id *uint32) error {
			if *id != 0 {
				live[kind][*id] = true
			}
			return nil
		})
	}
	return live
}

// eachID calls do for every ID with its kind.
func eachID(cfg *farm.Config, do func(kind int, id *uint32) error) error {
	for i := range cfg.Farms {
		if err := eachIDOf(&cfg.Farms[i], do); err != nil {
			return err
		}
	}
	return nil
}

// eachIDOf calls do for every ID of one farm.
func eachIDOf(f *farm.Farm, do func(kind int, id *uint32) error) error {
	if err := do(farmKind, &f.ID); err != nil {
		return err
	}
	for _, g := range f.Groups() {
		if err := do(serviceKind, g.IDAt()); err != nil {
			return err
		}
		for k := range g.Backends() {
			if err := do(backendKind, &g.Backends()[k].ID); err != nil {
				return err
			}
		}
	}
	return nil
}

// checkIDs is the function checkIDs for the new configuration, given that the old one passed
// it. If each farm keeps its place and has no new ID, all IDs are still unique.
func (steps *comparison) checkIDs() error {
	for i := range steps.new.Farms {
		if len(steps.old.Farms) != len(steps.new.Farms) || steps.old.Farms[i].ID != steps.new.Farms[i].ID {
			return checkIDs(steps.new)
		}
	}
	for i := range steps.changed {
		step := &steps.changed[i]
		if !keepsIDs(&steps.old.Farms[step.at], &steps.new.Farms[step.at]) {
			return checkIDs(steps.new)
		}
	}
	return nil
}

// keepsIDs reports whether every ID of a farm is unique in it and existed before.
func keepsIDs(was, now *farm.Farm) bool {
	var had [kinds]map[uint32]bool
	_ = eachIDOf(was, func(kind int, id *uint32) error {
		if had[kind] == nil {
			had[kind] = map[uint32]bool{}
		}
		had[kind][*id] = true
		return nil
	})
	return eachIDOf(now, func(kind int, id *uint32) error {
		if !had[kind][*id] {
			return errNoID
		}
		delete(had[kind], *id)
		return nil
	}) == nil
}

// checkIDs refuses a configuration with missing, repeated or too high IDs.
func checkIDs(cfg *farm.Config) error {
	var seen [kinds]farm.IDSet
	return eachID(cfg, func(kind int, id *uint32) error {
		if *id == 0 || *id > maxIDs[kind] || !seen[kind].Add(*id) {
			return fmt.Errorf("commit: %s ID %d is unset, twice or above %d", kindNames[kind], *id, maxIDs[kind])
		}
		return nil
	})
}
