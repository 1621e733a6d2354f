package store

import (
	"encoding/binary"
	"errors"
	"slices"

	bolt "go.etcd.io/bbolt"

	"github.com/sluicelb/sluice/core/farm"
)

// The current configuration is stored in parts, so that a change writes only changed ones. The
// manifest names each part with its checksum. So parts of different transactions are never
// mixed into one configuration, even in a damaged file.
//
//	current  number → manifest
//	farms    farm ID (4 bytes) → the farm, without records if it is large
//	zones    ID of a large farm, chunk ID (4 bytes each) → chunk; chunk 0 is the index
//
// Farms and chunks have the same encoding as in a revision (packed.go), which reuses them.

// manifest is the current configuration without its farms. In its record it follows Revision.
type manifest struct {
	System *farm.System  `json:"system"`
	Checks *[]farm.Check `json:"checks"`
	// Farms holds ID (4 bytes) and checksum of each farm in the order of the configuration,
	// Indexes the same for the index of each large one.
	Farms   []byte `json:"farms"`
	Indexes []byte `json:"indexes,omitempty"`
}

// digest is the checksum of a record.
type digest [sumSize]byte

func digestOf(record []byte) (d digest) {
	copy(d[:], record)
	return d
}

// sums are IDs with checksums, as in a manifest.
type sums []byte

const sumsEntry = 4 + sumSize

func (l sums) add(id uint32, sum digest) sums {
	return append(binary.BigEndian.AppendUint32(l, id), sum[:]...)
}

func (l sums) len() int { return len(l) / sumsEntry }

func (l sums) at(i int) (id uint32, sum digest) {
	one := l[i*sumsEntry:][:sumsEntry]
	return binary.BigEndian.Uint32(one), digestOf(one[4:])
}

// heldParts describes the parts of the current configuration on disk.
type heldParts struct {
	farms []heldFarm // in the order of the configuration
	size  int64      // of all records, in bytes
}

// heldFarm describes one farm on disk.
type heldFarm struct {
	sum  digest
	size uint32 // of its record and its index, in bytes
	// index is the checksum of the index. It and zones are zero unless the farm is large.
	index digest
	zones [][]heldChunk
}

func farmKey(id uint32) []byte { return binary.BigEndian.AppendUint32(nil, id) }

func chunkKey(farm, chunk uint32) []byte {
	return binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint32(nil, farm), chunk)
}

// partWriter replaces the current configuration by a new one.
type partWriter struct {
	tx           *bolt.Tx
	farms, zones *bolt.Bucket
	was, now     heldParts
}

// putParts writes a configuration and returns its parts. was are the parts of the previous one,
// steps is the comparison with it.
func putParts(tx *bolt.Tx, now *snapshot, was heldParts, steps *comparison) (heldParts, error) {
	w := &partWriter{tx: tx, farms: tx.Bucket(farmsBucket), zones: tx.Bucket(zonesBucket), was: was}
	w.now.farms = make([]heldFarm, len(now.Config.Farms))
	if err := w.removeGone(steps); err != nil {
		return heldParts{}, err
	}
	for i, at := range steps.at {
		if at >= 0 {
			w.now.farms[i] = was.farms[at]
		}
	}
	for i := range steps.changed {
		if err := w.put(&now.Config.Farms[steps.changed[i].at], &steps.changed[i]); err != nil {
			return heldParts{}, err
		}
	}
	return w.now, w.putManifest(now)
}

// removeGone deletes the farms that the new configuration does not have.
func (w *partWriter) removeGone(steps *comparison) error {
	gone := farm.Gone(steps.old.Farms, steps.at)
	for i := range steps.changed {
		if was := steps.changed[i].was; was >= 0 {
			gone = slices.DeleteFunc(gone, func(k int32) bool { return int(k) == was })
		}
	}
	for _, k := range gone {
		id := steps.old.Farms[k].ID
		if err := errors.Join(w.farms.Delete(farmKey(id)), w.removeChunks(id, w.was.farms[k].zones)); err != nil {
			return err
		}
	}
	return nil
}

// removeChunks deletes the chunks and the index of a farm that is no longer large.
func (w *partWriter) removeChunks(id uint32, zones [][]heldChunk) error {
	if zones == nil {
		return nil
	}
	err := w.zones.Delete(chunkKey(id, 0))
	for _, chunks := range zones {
		for _, c := range chunks {
			err = errors.Join(err, w.zones.Delete(chunkKey(id, c.id)))
		}
	}
	return err
}

// put writes one farm that does not share its settings with the previous configuration.
func (w *partWriter) put(f *farm.Farm, step *farmStep) error {
	var was heldFarm
	if step.was >= 0 {
		was = w.was.farms[step.was]
	}
	large, stored := isLarge(f), *f
	if large {
		stored = bare(f)
	}
	record, err := farmPiece(&stored)
	if err != nil {
		return err
	}
	now := heldFarm{sum: digestOf(record), size: uint32(len(record))}
	if now.sum != was.sum {
		if err := w.farms.Put(farmKey(f.ID), record); err != nil {
			return err
		}
	}
	if !large {
		err = w.removeChunks(f.ID, was.zones)
	} else {
		err = w.putZones(f, step, &was, &now)
	}
	w.now.farms[step.at] = now
	return err
}

// putZones writes the changed chunks of a large farm, and the index.
func (w *partWriter) putZones(f *farm.Farm, step *farmStep, was, now *heldFarm) error {
	last := uint32(0)
	for _, chunks := range was.zones {
		for _, c := range chunks {
			last = max(last, c.id)
		}
	}
	next := func() uint32 { last++; return last }
	now.zones = make([][]heldChunk, len(zonesOf(f)))
	kept := make([]bool, len(was.zones))
	for i := range zonesOf(f) {
		var old []heldChunk
		var runs []farm.RecordRun
		if step.zones != nil && was.zones != nil && step.zones[i].was >= 0 {
			k := step.zones[i].was
			old, runs, kept[k] = was.zones[k], step.zones[i].runs, true
		}
		chunks, err := w.putZone(f.ID, &zonesOf(f)[i], old, runs, next)
		if err != nil {
			return err
		}
		now.zones[i] = chunks
	}
	for k, is := range kept {
		if is {
			continue
		}
		for _, c := range was.zones[k] {
			if err := w.zones.Delete(chunkKey(f.ID, c.id)); err != nil {
				return err
			}
		}
	}
	record, err := indexRecord(now.zones)
	if err != nil {
		return err
	}
	now.index = digestOf(record)
	now.size += uint32(len(record))
	if now.index == was.index {
		return nil
	}
	return w.zones.Put(chunkKey(f.ID, 0), record)
}

func (w *partWriter) putZone(id uint32, zone *farm.Zone, old []heldChunk, runs []farm.RecordRun, next func() uint32) ([]heldChunk, error) {
	d := divide(old, runs, zone.Len(), next)
	for _, chunk := range d.gone {
		if err := w.zones.Delete(chunkKey(id, chunk)); err != nil {
			return nil, err
		}
	}
	for _, span := range d.fresh {
		record, err := chunkPiece(zone.Slice(span.from, span.to))
		if err != nil {
			return nil, err
		}
		c := &d.chunks[span.chunk]
		c.sum, c.size = digestOf(record), uint32(len(record))
		if err := w.zones.Put(chunkKey(id, c.id), record); err != nil {
			return nil, err
		}
	}
	return d.chunks, nil
}

// putManifest writes the manifest and adds up the size of all parts.
func (w *partWriter) putManifest(now *snapshot) error {
	m := manifest{System: &now.Config.System, Checks: saidChecks(now.Config), Farms: make([]byte, 0, sumsEntry*len(w.now.farms))}
	for i := range w.now.farms {
		f, id := &w.now.farms[i], now.Config.Farms[i].ID
		m.Farms = sums(m.Farms).add(id, f.sum)
		if f.zones != nil {
			m.Indexes = sums(m.Indexes).add(id, f.index)
		}
		w.now.size += int64(f.size)
		for _, chunks := range f.zones {
			for _, c := range chunks {
				w.now.size += int64(c.size)
			}
		}
	}
	record, err := manifestRecord(&now.Revision, &m)
	if err != nil {
		return err
	}
	w.now.size += int64(len(record))
	return w.tx.Bucket(currentBucket).Put(numberKey(now.Number), record)
}
