package table

import "slices"

// Backends are compiled backends by stable number. A table shares with the one before the
// pages on which nothing changed: of 10,000 backends a change of ten copies one or two. The
// zero value has none.
type Backends struct {
	pages []*page
	count int
}

// page has the backends of pageSize numbers that follow each other.
type page [pageSize]*Backend

const pageSize = 256

// Of returns the backend with that number, nil if there is none.
func (b *Backends) Of(id uint32) *Backend {
	n := id / pageSize
	if n >= uint32(len(b.pages)) || b.pages[n] == nil {
		return nil
	}
	return b.pages[n][id%pageSize]
}

// Len returns how many there are.
func (b *Backends) Len() int { return b.count }

// edit makes a changed copy.
type edit struct {
	Backends
	copied map[uint32]bool // pages that nobody else has
}

func (b *Backends) edit() *edit {
	return &edit{Backends{slices.Clone(b.pages), b.count}, map[uint32]bool{}}
}

// set makes one, or none, the backend with that number.
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
