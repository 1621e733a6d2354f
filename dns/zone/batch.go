package zone

import (
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"

	"github.com/sluicelb/sluice/core/farm"
)

// batch holds consecutive records of a zone in wire format.
type batch struct {
	at      int    // position in the zone
	run     string // the packed run, empty if the records are not packed
	list    []farm.Record
	records []parsed
	space   []farm.Record // memory for list if it was packed
	hashes  []uint32      // of the names; not reused, because the table keeps them
	err     error         // of the first record that could not be parsed
}

// parsed is a record in wire format.
type parsed struct {
	name, data []byte
	ttl        uint32
	kind       uint16
}

// failed adds the record at position j of the batch to err.
func (b *batch) failed(j int, err error) error {
	r := &b.list[j]
	return fmt.Errorf("record %d (%s %s): %w", int(r.ID)-1, r.Name, r.Type, err)
}

// memory allocates adjacent byte slices from large blocks.
type memory struct {
	free []byte
	size int
}

// room returns an empty slice with capacity n. take marks the part in use.
func (m *memory) room(n int) []byte {
	if cap(m.free) < n {
		m.size = min(max(512, 2*m.size), 32<<10)
		m.free = make([]byte, 0, max(n, m.size))
	}
	return m.free[:0:n]
}

// take reserves b, which was appended to the result of room, and returns it.
func (m *memory) take(b []byte) []byte {
	m.free = m.free[len(b):len(b):cap(m.free)]
	return b[:len(b):len(b)]
}

// ahead is the maximum number of parsed batches per worker that wait for earlier ones.
const ahead = 4

// parse adds the records of a zone to their names. Workers parse batches, and this
// goroutine adds the batches in order, so the result does not depend on the number of
// workers.
func (c *compiler) parse(i int, z *farm.Zone) error {
	count := len(z.Packed) + (len(z.Records)+farm.PackedRun-1)/farm.PackedRun
	workers := min(c.workers, count)
	if workers < 2 {
		b, m := &batch{}, &memory{}
		for at := range count {
			c.parseBatch(m, i, z, at, b)
			if err := c.listed(i, b); err != nil {
				return err
			}
		}
		return nil
	}
	free, ready := make(chan *batch, ahead*workers), make([]chan *batch, count)
	for k := range ready {
		ready[k] = make(chan *batch, 1)
	}
	for range cap(free) {
		free <- &batch{}
	}
	var next atomic.Int64
	var running sync.WaitGroup
	defer running.Wait()
	defer next.Store(int64(count)) // after an error
	for range workers {
		running.Go(func() {
			m := &memory{}
			for b := range free { // taken first, so that the lowest number never waits for a batch
				at := int(next.Add(1)) - 1
				if at >= count {
					return
				}
				c.parseBatch(m, i, z, at, b)
				ready[at] <- b
				runtime.Gosched() // let event loops run
			}
		})
	}
	defer close(free)
	for _, of := range ready {
		b := <-of
		if err := c.listed(i, b); err != nil {
			return err
		}
		free <- b
	}
	return nil
}

// parseBatch parses the batch at position at of the zone into b.
func (c *compiler) parseBatch(m *memory, i int, z *farm.Zone, at int, b *batch) {
	if b.at, b.run, b.err = at, "", nil; at < len(z.Packed) {
		b.run = z.Packed[at]
		b.space, _ = farm.Unpack(b.space[:0], b.run)
		b.list = b.space
	} else {
		from := (at - len(z.Packed)) * farm.PackedRun
		b.list = z.Records[from:min(from+farm.PackedRun, len(z.Records))]
	}
	b.records, b.hashes = b.records[:0], make([]uint32, 0, len(b.list))
	for j := range b.list {
		r := &b.list[j]
		name, err := c.nameOf(m, i, z, r.Name)
		if err != nil {
			b.err = b.failed(j, err)
			return
		}
		kind, ttl, data, err := c.data(m, z, r)
		if err != nil {
			b.err = b.failed(j, err)
			return
		}
		b.records, b.hashes = append(b.records, parsed{name, data, ttl, kind}), append(b.hashes, hashOf(name))
	}
}
