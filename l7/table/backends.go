package table

import "slices"

// Backends maps stable numbers to compiled backends. A table shares unchanged pages with its
// predecessor: a change of ten among 10,000 backends copies one or two pages. The zero value
// is empty.
type Backends struct {
	pages []*page
	count int
}

// page holds pageSize backends with consecutive numbers.
type page [pageSize]*Backend

const pageSize = 256

// Of returns the backend with that number, or nil.
func (b *Backends) Of(id uint32) *Backend {
	n := id / pageSize
	if n >= uint32(len(b.pages)) || b.pages[n] == nil {
		return nil
	}
	return b.pages[n][id%pageSize]
}

// Len returns the number of backends.
func (b *Backends) Len() int { return b.count }

// edit modifies a copy.
type edit struct {
	Backends
	copied map[uint32]bool // pages already copied
}

func (b *Backends) edit() *edit {
	return &edit{Backends{slices.Clone(b.pages), b.count}, map[uint32]bool{}}
}

// set sets the backend with that number; nil removes it.
func (e *edit) set(id uint32, one *Backend) {
	n := id / pageSize
	if missing := int(n) + 1 - len(e.pages); missing > 0 {
		e.pages = append(e.pages, make([]*page, missing)...)
	}
	if !e.copied[n] {
		own := new(page)
		if e.pages[n] != nil {
			*own = *e.pages[n]
		}
		e.pages[n], e.copied[n] = own, true
	}
	at := &e.pages[n][id%pageSize]
	if *at != nil {
		e.count--
	}
	if one != nil {
		e.count++
	}
	*at = one
}
