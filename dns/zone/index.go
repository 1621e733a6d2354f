package zone

import "math/bits"

// index finds nodes by the hashes of their names. It consists of pages, so that tables that
// differ in a few names share most of it.
type index struct {
	pages []*page
	mask  uint32 // of the positions of slots
	used  int    // slots that are not free
}

const pageBits = 8

type page [1 << pageBits]slot

// slot is where a name lies that has this hash. One with at 0 is free; a name that is gone
// leaves one with at nameless.
type slot struct{ hash, at uint32 }

// nameless is a node whose name is that of none.
const nameless = 1

// newIndex returns an index for so many names and a few more.
func newIndex(names int) index {
	slots := slotsFor(names)
	x := index{pages: make([]*page, slots>>pageBits), mask: uint32(slots - 1)}
	all := make([]page, len(x.pages)) // beside each other
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

// add adds a node that is not there.
func (x *index) add(hash uint32, n node) {
	for i := mixed(hash); ; i++ {
		if s := x.slot(i); s.at == 0 {
			*s = slot{hash, uint32(n)}
			x.used++
			return
		}
	}
}

// full reports whether so many more names are too many: searches would become long.
func (x *index) full(more int) bool { return x.used+more > int(x.mask)*7/8 }

// editor changes a copy of an index, which shares the pages that stay as they are.
type editor struct {
	index
	own map[uint32]bool // pages that are not shared
}

func (x *index) edit() *editor {
	e := &editor{index: *x, own: map[uint32]bool{}}
	e.pages = append([]*page(nil), x.pages...)
	return e
}

// put puts another node in the place of one, which is 0 for a name that is new; with
// nameless the name is gone.
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
