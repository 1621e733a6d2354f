package zone

import (
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"

	"github.com/sluicelb/sluice/core/farm"
)

// batch is consecutive records of a zone in the form of messages.
type batch struct {
	at      int    // position in the zone
	run     string // the records packed; empty unless they are
	list    []farm.Record
	records []parsed
	space   []farm.Record // list, if it was packed
	hashes  []uint32      // of their names; never used again by another batch
	err     error         // of the record after these, which has no such form
}

// parsed is a record in the form of messages.
type parsed struct {
	name, data []byte
	ttl        uint32
	kind       uint16
}

// failed returns the error of a record of the batch.
func (b *batch) failed(j int, err error) error {
	r := &b.list[j]
	return fmt.Errorf("record %d (%s %s): %w", int(r.ID)-1, r.Name, r.Type, err)
}

// memory hands out bytes that lie beside each other.
type memory struct {
	free []byte
	size int
}

// room returns an empty slice with room for n bytes, which take uses up.
func (m *memory) room(n int) []byte {
	if cap(m.free) < n {
		m.size = min(max(512, 2*m.size), 32<<10)
		m.free = make([]byte, 0, max(n, m.size))
	}
	return m.free[:0:n]
}

// take returns b, which lies in the room.
func (m *memory) take(b []byte) []byte {
	m.free = m.free[len(b):len(b):cap(m.free)]
	return b[:len(b):len(b)]
}

// ahead is how many batches for each worker may wait until those before them are joined.
const ahead = 4

// parse parses the records of a zone and puts them to their names. Workers parse, and this
// goroutine puts the batches to their names in order, so that the result does not depend on
// the number of workers.
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
			for b := range free { // before its number: the least number never waits for a batch
				at := int(next.Add(1)) - 1
				if at >= count {
					return
				}
				c.parseBatch(m, i, z, at, b)
				ready[at] <- b
				runtime.Gosched() // event loops need the processor in between
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

// parseBatch parses the records of the zone at a position, into a batch that is free.
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
