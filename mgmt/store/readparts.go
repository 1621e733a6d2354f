package store

import (
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"

	bolt "go.etcd.io/bbolt"

	"github.com/sluicelb/sluice/core/farm"
)

// partFinder returns the part with a key and a checksum, or nil.
type partFinder func(bucket, key []byte, sum digest) []byte

// partsOf finds parts in a transaction. Their content is not checked yet.
func partsOf(tx *bolt.Tx) partFinder {
	farms, zones := tx.Bucket(farmsBucket), tx.Bucket(zonesBucket) // Tx.Bucket is not safe for concurrent use
	return func(bucket, key []byte, sum digest) []byte {
		of := farms
		if &bucket[0] == &zonesBucket[0] {
			of = zones
		}
		if record := of.Get(key); digestOf(record) == sum {
			return record
		}
		return nil
	}
}

// readCurrent reads the current configuration, which is empty before the first change.
func readCurrent(tx *bolt.Tx) (*snapshot, heldParts, error) {
	_, record := tx.Bucket(currentBucket).Cursor().Last()
	if record == nil {
		return &snapshot{Config: &farm.Config{}}, heldParts{}, nil
	}
	now, parts, err := readParts(record, partsOf(tx))
	if err != nil {
		err = fmt.Errorf("%w: the current configuration: %w", ErrCorrupt, err)
	}
	return now, parts, err
}

// readParts reads the configuration of a manifest.
func readParts(record []byte, find partFinder) (*snapshot, heldParts, error) {
	r := partReader{find: find}
	now, m, err := readManifest(record)
	if err == nil {
		r.size = int64(len(record))
		err = r.readFarms(sums(m.Farms))
	}
	if err == nil {
		err = r.readZones(sums(m.Indexes))
	}
	if err != nil {
		return nil, heldParts{}, err
	}
	c := change{Whole: true, Farms: r.farms, System: m.System, Checks: m.Checks}
	cfg, err := c.applyTo(&farm.Config{})
	return &snapshot{now, cfg}, r.held(), err
}

// partReader reads parts on all processors: a zone with a million records dominates the start.
type partReader struct {
	find  partFinder
	farms []farm.Farm
	parts []heldFarm
	size  int64
	zones []*zoneRuns
}

func (r *partReader) readFarms(list sums) error {
	if len(list)%sumsEntry != 0 {
		return errors.New("the list of farms is cut off")
	}
	r.farms, r.parts = make([]farm.Farm, list.len()), make([]heldFarm, list.len())
	return each(list.len(), func(i int) error {
		id, sum := list.at(i)
		record := r.find(farmsBucket, farmKey(id), sum)
		f, err := readFarm(record)
		if err == nil && f.ID != id {
			err = fmt.Errorf("it is farm %d", f.ID)
		}
		if err != nil {
			return fmt.Errorf("farm %d: %w", id, err)
		}
		r.farms[i], r.parts[i] = *f, heldFarm{sum: sum, size: uint32(len(record))}
		return nil
	})
}

// readZones reads the records of large farms; list has their indexes.
func (r *partReader) readZones(list sums) error {
	if len(list)%sumsEntry != 0 {
		return errors.New("the list of indexes is cut off")
	}
	var jobs []func() error
	next := 0
	for k := range list.len() {
		id, sum := list.at(k)
		for next < len(r.farms) && r.farms[next].ID != id { // both lists have the same order
			next++
		}
		if next == len(r.farms) || r.farms[next].Zones() == nil {
			return fmt.Errorf("farm %d has an index and no zones", id)
		}
		index := r.find(zonesBucket, chunkKey(id, 0), sum)
		if !intact(index) {
			return fmt.Errorf("farm %d: the index of its records: %w", id, errRecord)
		}
		zones, err := readIndex(index)
		if err == nil && len(zones) != len(zonesOf(&r.farms[next])) {
			err = errIndex
		}
		if err != nil {
			return fmt.Errorf("farm %d: %w", id, err)
		}
		r.parts[next].index, r.parts[next].zones = sum, zones
		r.parts[next].size += uint32(len(index))
		more, err := r.chunks(id, zonesOf(&r.farms[next]), zones)
		if err != nil {
			return err
		}
		jobs = append(jobs, more...)
	}
	err := each(len(jobs), func(i int) error { return jobs[i]() })
	if err != nil {
		return err
	}
	for _, of := range r.zones {
		of.zone.SetRuns(slices.Concat(of.chunks...))
	}
	return nil
}

// zoneRuns is a zone with the runs of its chunks.
type zoneRuns struct {
	zone   *farm.Zone
	chunks [][]*farm.Run
}

// chunks returns the jobs that read the records of a farm's zones.
func (r *partReader) chunks(id uint32, zones []farm.Zone, held [][]heldChunk) (jobs []func() error, err error) {
	for i := range zones {
		n := 0
		for _, c := range held[i] {
			if n += int(c.count); n > maxRecord {
				return nil, fmt.Errorf("farm %d: %w", id, errIndex)
			}
		}
		if n == 0 {
			continue
		}
		of := &zoneRuns{zone: &zones[i], chunks: make([][]*farm.Run, len(held[i]))}
		r.zones = append(r.zones, of)
		for k, c := range held[i] {
			jobs = append(jobs, func() (err error) {
				if of.chunks[k], err = readChunk(r.find(zonesBucket, chunkKey(id, c.id), c.sum), int(c.count)); err != nil {
					return fmt.Errorf("chunk %d of the records of farm %d: %w", c.id, id, err)
				}
				return nil
			})
		}
	}
	return jobs, nil
}

func (r *partReader) held() heldParts {
	out := heldParts{farms: r.parts, size: r.size}
	for i := range r.parts {
		out.size += int64(r.parts[i].size)
		for _, chunks := range r.parts[i].zones {
			for _, c := range chunks {
				out.size += int64(c.size)
			}
		}
	}
	return out
}

// each calls do for 0 … n-1 on all processors and returns the error with the lowest index. A
// memory fault of the file's mapping becomes an error of its call (contained).
func each(n int, do func(i int) error) error {
	errs := make([]error, n)
	var next atomic.Int64
	var wait sync.WaitGroup
	work := func() {
		for i := int(next.Add(1)) - 1; i < n; i = int(next.Add(1)) - 1 {
			errs[i] = contained(func() error { return do(i) })
		}
	}
	for range min(runtime.GOMAXPROCS(0), n) - 1 {
		wait.Go(work)
	}
	work()
	wait.Wait()
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}
