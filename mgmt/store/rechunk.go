package store

import "github.com/sluicelb/sluice/core/farm"

// Sizes of chunks in records. A divided list has chunks of about chunkTarget. Edits make them
// shorter or longer within the other two bounds.
const (
	chunkLeast  = 256
	chunkTarget = 1024
	chunkMost   = 2 * chunkTarget
)

// heldChunk describes a chunk of the current configuration on disk.
type heldChunk struct {
	id    uint32 // unique in its farm, from 1
	count uint32 // of records
	size  uint32 // of its record on disk, in bytes
	sum   digest
}

// division is the new division of a zone into chunks.
type division struct {
	chunks []heldChunk
	fresh  []span   // chunks to write
	gone   []uint32 // IDs no longer in use
}

// span is the part of a list of records that a chunk holds.
type span struct{ chunk, from, to int }

// divide divides n records into chunks. runs are the runs of equal records of the list that old
// divides and the new one. A chunk whose records are all in one run stays unchanged, even if it
// moved. Records between such chunks form new chunks, which reuse the IDs of replaced ones; id
// returns further IDs.
func divide(old []heldChunk, runs []farm.RecordRun, n int, id func() uint32) division {
	d := divider{id: id}
	from, run := 0, 0
	for _, c := range old {
		to := from + int(c.count)
		for run < len(runs) && runs[run].Old+runs[run].Length <= from {
			run++
		}
		at, same := 0, run < len(runs) && runs[run].Old <= from && to <= runs[run].Old+runs[run].Length
		if same {
			at = runs[run].New + from - runs[run].Old
		}
		from = to
		if !same || at > d.end && at-d.end < chunkLeast && len(d.out.chunks) == 0 {
			d.ids = append(d.ids, c.id) // too few records before the first one: merge them
			continue
		}
		d.close(at)
		d.keep(c)
	}
	d.close(n)
	return d.out
}

// divider builds a division from left to right.
type divider struct {
	out division
	ids []uint32 // of old chunks since the last one that stays
	end int      // of the divided part of the new list
	id  func() uint32
}

func (d *divider) keep(c heldChunk) {
	d.out.chunks = append(d.out.chunks, c)
	d.end += int(c.count)
}

// close divides the records up to end into new chunks. It merges a few into the last chunk.
func (d *divider) close(end int) {
	from := d.end
	if last := len(d.out.chunks) - 1; end > from && end-from < chunkLeast && last >= 0 {
		c := d.out.chunks[last]
		d.out.chunks = d.out.chunks[:last]
		if fresh := len(d.out.fresh) - 1; fresh >= 0 && d.out.fresh[fresh].chunk == last {
			d.out.fresh = d.out.fresh[:fresh]
		}
		d.ids = append([]uint32{c.id}, d.ids...)
		from -= int(c.count)
	}
	parts := 0
	if n := end - from; n > chunkMost {
		parts = (n + chunkTarget/2) / chunkTarget
	} else if n > 0 {
		parts = 1
	}
	for k := range parts {
		to := from + (end-from)/(parts-k)
		d.out.fresh = append(d.out.fresh, span{len(d.out.chunks), from, to})
		d.out.chunks = append(d.out.chunks, heldChunk{id: d.nextID(), count: uint32(to - from)})
		from = to
	}
	d.out.gone = append(d.out.gone, d.ids...)
	d.ids, d.end = nil, end
}

func (d *divider) nextID() uint32 {
	if len(d.ids) == 0 {
		return d.id()
	}
	id := d.ids[0]
	d.ids = d.ids[1:]
	return id
}
