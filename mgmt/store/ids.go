package store

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"

	bolt "go.etcd.io/bbolt"

	"github.com/sluicelb/sluice/core/farm"
)

// The kinds of objects that have IDs; their names are the keys on disk. The
// group of backends of an l4xnat farm has one of the numbers of services.
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

// cursors are the IDs given last, by kind. They only move forward and start
// again at 1 after the highest, so a number comes back only after every other
// one was used: who still holds an old one (a counter, a session) has time to
// notice.
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

// GiveIDs fills every zero ID of cfg with a number no object of cfg and of the
// current configuration has. The numbers are not given again while the store
// is open even when cfg is never committed; Commit makes that last.
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

// haveIDs reports whether everything in cfg has its number. All that current has does.
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

// next moves a cursor to the next number that is not live, and makes it live.
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

// eachID calls do for every ID; kind is one of the kinds.
func eachID(cfg *farm.Config, do func(kind int, id *uint32) error) error {
	for i := range cfg.Farms {
		if err := eachIDOf(&cfg.Farms[i], do); err != nil {
			return err
		}
	}
	return nil
}

// eachIDOf is eachID of one farm.
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

// checkIDs is checkIDs of the new configuration after one that passed it. If each farm keeps its place
// and has no ID that it did not have before, all IDs are still unique.
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

// keepsIDs reports whether every ID of a farm is unique in it, and one it had before.
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

// checkIDs refuses a configuration whose objects cannot be told apart.
func checkIDs(cfg *farm.Config) error {
	var seen [kinds]farm.IDSet
	return eachID(cfg, func(kind int, id *uint32) error {
		if *id == 0 || *id > maxIDs[kind] || !seen[kind].Add(*id) {
			return fmt.Errorf("commit: %s ID %d is unset, twice or above %d", kindNames[kind], *id, maxIDs[kind])
		}
		return nil
	})
}
