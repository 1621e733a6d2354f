package snapshot

import (
	"crypto/sha256"
	"fmt"
	"os"
	"slices"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/core/shm"
)

// Writer encodes successive configurations. It neither checks nor encodes farms again that
// share memory with the previous ones (farm.Align), so callers must not modify them. A
// snapshot omits them if its reader has them. The zero value has no previous
// configuration. Writer is not safe for concurrent use.
type Writer struct {
	last   written
	census census
}

// written is an encoded configuration.
type written struct {
	generation uint64
	farms      []farm.Farm
	entries    []*entry // of the farms
	at         []int32  // positions of the farms in the previous configuration, -1 for none
	rest       digest   // of everything else, which has private keys and is not kept
	sum        digest
}

// Publish checks and encodes cfg and returns sealed memory with the snapshot. The caller
// sends it to the engine and closes it. base is the generation that the engine read last,
// or 0. If this writer published base last, the snapshot contains only the differences.
func (w *Writer) Publish(generation uint64, cfg *farm.Config, base uint64) (*os.File, error) {
	next, rest, err := w.encode(generation, cfg)
	if err != nil {
		return nil, err
	}
	if err := w.census.check(cfg, next.entries); err != nil {
		return nil, fmt.Errorf("publish generation %d: %w", generation, err)
	}
	last := w.last
	w.last = *next
	defer w.last.forget()
	var all [][]byte
	if base != 0 && base == last.generation && len(last.farms) > 0 && len(next.farms) > 0 {
		all, err = next.after(&last, rest)
	} else {
		all, err = next.whole(rest)
	}
	if err != nil {
		w.last.generation = 0 // it was not published, so it cannot be a base
		return nil, err
	}
	f, err := shm.Sealed("sluice-snapshot", all...)
	if err != nil {
		w.last.generation = 0
		return nil, fmt.Errorf("publish generation %d: %w", generation, err)
	}
	return f, nil
}

// forget drops the bytes of published runs.
func (w *written) forget() {
	for _, e := range w.entries {
		e.fresh = nil
	}
}

// encode encodes the new farms of cfg. rest is the encoding of cfg without farms.
func (w *Writer) encode(generation uint64, cfg *farm.Config) (next *written, rest []byte, err error) {
	fail := func(err error) (*written, []byte, error) {
		return nil, nil, fmt.Errorf("encode generation %d: %w: %w", generation, ErrBody, err)
	}
	without := *cfg
	without.Farms = nil
	if rest, err = encoding.Marshal(&without); err != nil {
		return fail(err)
	}
	next = &written{generation: generation, farms: slices.Clone(cfg.Farms), entries: make([]*entry, len(cfg.Farms)), rest: sha256.Sum256(rest[farmsAt+1:])}
	next.at = farm.Align(w.last.farms, cfg.Farms)
	var known map[digest]int32 // built if a farm is not at its previous position
	for i, at := range next.at {
		if at >= 0 {
			next.entries[i] = w.last.entries[at]
			continue
		}
		e, err := w.entry(i, &cfg.Farms[i])
		if err != nil {
			return fail(err)
		}
		at, is := int32(i), i < len(w.last.farms) && w.last.farms[i].ID == e.farm.ID
		if is {
			is = w.last.entries[i].digest == e.digest
		} else {
			if known == nil {
				known = w.last.positions()
			}
			at, is = known[e.digest]
		}
		if is { // an equal copy, or a change that snapshots omit
			next.at[i], e = at, w.last.entries[at]
			e.farm = cfg.Farms[i] // releases the memory of the previous one
		}
		next.entries[i] = e
	}
	next.sum = sumOf(next.rest, next.entries)
	return next, rest, nil
}

// entry encodes a farm that is new or may have changed. Its previous version is expected
// at position at.
func (w *Writer) entry(at int, f *farm.Farm) (*entry, error) {
	e, encode := &entry{farm: *f}, f
	if hasPacked(f) {
		e.runs, e.fresh = splitZones(f, w.last.entry(at, f.ID))
		encode = headOf(f, e.runs)
	}
	b, err := encoding.Marshal(encode)
	e.digest, e.encoded, e.size = sha256.Sum256(b), b, len(b)
	return e, err
}

// entry returns the farm with an ID, or nil. It looks at position at first.
func (w *written) entry(at int, id uint32) *entry {
	if at = w.position(at, id); at < 0 {
		return nil
	}
	return w.entries[at]
}

// position returns the index of the farm with an ID, or -1. It looks at position at first.
func (w *written) position(at int, id uint32) int {
	if at < len(w.farms) && w.farms[at].ID == id {
		return at
	}
	return slices.IndexFunc(w.farms, func(f farm.Farm) bool { return f.ID == id })
}

// positions returns the index of each farm by digest.
func (w *written) positions() map[digest]int32 {
	at := make(map[digest]int32, len(w.entries))
	for i, e := range w.entries {
		at[e.digest] = int32(i)
	}
	return at
}
