package snapshot

import (
	"crypto/sha256"
	"fmt"
	"os"
	"slices"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/core/shm"
)

// Writer writes one configuration after the other, of which most farms are as they
// were: those are recognised by where their settings lie (farm.Align), and nobody may
// change them any more. They are neither checked nor encoded again, and are not part of the
// snapshot if its reader has them. The zero value knows nothing. One goroutine uses it at a
// time.
type Writer struct {
	last   written
	census census
}

// written is a configuration that was encoded.
type written struct {
	generation uint64
	farms      []farm.Farm
	entries    []*entry // of the farms
	at         []int32  // positions of the farms in the one before, -1 for none
	rest       digest   // of all else, which has private keys and is not kept
	sum        digest
}

// Publish checks and encodes cfg and returns the descriptor of sealed memory that holds
// the snapshot, to be sent to the engine and closed by the caller. base is the generation
// the engine read last, 0 for none: if this writer published it last, the snapshot says
// what has changed since, and is whole otherwise.
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
	var b []byte
	if base != 0 && base == last.generation && len(last.farms) > 0 && len(next.farms) > 0 {
		b, err = next.after(&last, rest)
	} else {
		b, err = next.whole(rest)
	}
	if err != nil {
		w.last.generation = 0 // nobody gets it
		return nil, err
	}
	f, err := shm.Sealed("sluice-snapshot", b)
	if err != nil {
		w.last.generation = 0
		return nil, fmt.Errorf("publish generation %d: %w", generation, err)
	}
	return f, nil
}

// encode encodes what of cfg is not encoded yet. rest is the encoding of cfg without farms.
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
	var known map[digest]int32 // positions, made once farms are not in their places
	for i, at := range next.at {
		if at >= 0 {
			next.entries[i] = w.last.entries[at]
			continue
		}
		b, err := encoding.Marshal(&cfg.Farms[i])
		if err != nil {
			return fail(err)
		}
		e := &entry{farm: cfg.Farms[i], digest: sha256.Sum256(b), encoded: b, size: len(b)}
		at, is := int32(i), i < len(w.last.farms) && w.last.farms[i].ID == e.farm.ID
		if is {
			is = w.last.entries[i].digest == e.digest
		} else {
			if known == nil {
				known = w.last.positions()
			}
			at, is = known[e.digest]
		}
		if is { // a copy, or with a change that no engine is told of
			next.at[i], e = at, w.last.entries[at]
		}
		next.entries[i] = e
	}
	next.sum = sumOf(next.rest, next.entries)
	return next, rest, nil
}

// positions are those of the farms, by the digest of their encoding.
func (w *written) positions() map[digest]int32 {
	at := make(map[digest]int32, len(w.entries))
	for i, e := range w.entries {
		at[e.digest] = int32(i)
	}
	return at
}
