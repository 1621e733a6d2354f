package zone

import "math/bits"

// index finds nodes by the hashes of their names. It consists of pages, so that tables
// with few differences share most pages.
type index struct {
	pages []*page
	mask  uint32 // for slot positions
	used  int    // slots in use, including nameless ones
}

const pageBits = 8

type page [1 << pageBits]slot

// slot is a name's hash and the offset of its node. A free slot has at 0. The slot of a
// removed name has at nameless.
type slot struct{ hash, at uint32 }

// nameless is the offset of a node without a name. It matches no lookup.
const nameless = 1

// newIndex returns an index with spare slots for the given number of names.
func newIndex(names int) index {
	slots := slotsFor(names)
	x := index{pages: make([]*page, slots>>pageBits), mask: uint32(slots - 1)}
	all := make([]page, len(x.pages)) // adjacent in memory
	for i := range x.pages {
		x.pages[i] = &all[i]
	}
	return x
}

func slotsFor(names int) int { return max(1<<bits.Len(uint(max(1, names*3/2))), len(page{})) }

func (x *index) slot(i uint32) *slot {
	i &= x.mask
	return &x.pages[i>>pageBits][i%uint32(len(page{}))]
}

// add adds a node that is not in the index.
func (x *index) add(hash uint32, n node) {
	for i := mixed(hash); ; i++ {
		if s := x.slot(i); s.at == 0 {
			*s = slot{hash, uint32(n)}
			x.used++
			return
		}
	}
}

// full reports whether adding more names would make searches too long.
func (x *index) full(more int) bool { return x.used+more > int(x.mask)*7/8 }

// editor changes a copy of an index. Unchanged pages remain shared.
type editor struct {
	index
	own map[uint32]bool // pages that the copy does not share
}

func (x *index) edit() *editor {
	e := &editor{index: *x, own: map[uint32]bool{}}
	e.pages = append([]*page(nil), x.pages...)
	return e
}

// put replaces the node before with now. before is 0 for a new name. now is nameless for a
// removed name.
func (e *editor) put(hash uint32, before, now node) {
	i := mixed(hash)
	for e.slot(i).at != uint32(before) || before != 0 && e.slot(i).hash != hash {
		i++
	}
	i &= e.mask
	if at := i >> pageBits; !e.own[at] {
		p := *e.pages[at]
		e.pages[at], e.own[at] = &p, true
	}
	if before == 0 {
		e.used++
	}
	*e.slot(i) = slot{hash, uint32(now)}
}
