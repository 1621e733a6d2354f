// Package paged maps stable numbers to pointers. A changed copy of a map shares the pages
// without changes with the original.
package paged

import "slices"

// Map maps numbers to values. It is immutable and safe for concurrent use. The zero value
// is empty. A change of ten among 10,000 consecutive numbers copies one or two pages.
type Map[T any] struct {
	pages []*page[T]
	count int
}

// page holds pageSize values with consecutive numbers.
type page[T any] [pageSize]*T

const pageSize = 256

// Of returns the value with that number, or nil.
func (m *Map[T]) Of(id uint32) *T {
	n := id / pageSize
	if n >= uint32(len(m.pages)) || m.pages[n] == nil {
		return nil
	}
	return m.pages[n][id%pageSize]
}

// Len returns the number of values.
func (m *Map[T]) Len() int { return m.count }

// Edit is a changed copy of a Map.
type Edit[T any] struct {
	m      Map[T]
	copied map[uint32]bool // pages that belong to the copy
}

// Edit returns a copy for changes; m does not change.
func (m *Map[T]) Edit() *Edit[T] {
	return &Edit[T]{Map[T]{slices.Clone(m.pages), m.count}, map[uint32]bool{}}
}

// Set sets the value with that number; nil removes it.
func (e *Edit[T]) Set(id uint32, value *T) {
	n := id / pageSize
	if missing := int(n) + 1 - len(e.m.pages); missing > 0 {
		e.m.pages = append(e.m.pages, make([]*page[T], missing)...)
	}
	if !e.copied[n] {
		own := new(page[T])
		if e.m.pages[n] != nil {
			*own = *e.m.pages[n]
		}
		e.m.pages[n], e.copied[n] = own, true
	}
	at := &e.m.pages[n][id%pageSize]
	if *at != nil {
		e.m.count--
	}
	if value != nil {
		e.m.count++
	}
	*at = value
}

// Map returns the result. The Edit must not be used afterwards.
func (e *Edit[T]) Map() Map[T] { return e.m }
