// Package registry keeps values by stable number across the tables that engines compile:
// loads, rotations, sessions, limits. It is used during compilation and by background
// work; connections use the references in their table.
package registry

import "sync"

// Map holds values by ID. The zero value is usable, empty and makes zero values. It is
// safe for concurrent use.
type Map[K comparable, V any] struct {
	// Make returns the value of a new ID; nil means a zero value. Gone, if not nil, is
	// called for removed values. Neither may use the Map. Both must be set before the
	// first call.
	Make func(id K) *V
	Gone func(*V)

	mu  sync.Mutex
	all map[K]*V
}

// Of returns the value of an ID and creates it if necessary.
func (m *Map[K, V]) Of(id K) *V {
	m.mu.Lock()
	defer m.mu.Unlock()
	v := m.all[id]
	if v != nil {
		return v
	}
	if m.Make != nil {
		v = m.Make(id)
	} else {
		v = new(V)
	}
	if m.all == nil {
		m.all = map[K]*V{}
	}
	m.all[id] = v
	return v
}

// Has returns the value of an ID, or nil.
func (m *Map[K, V]) Has(id K) *V {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.all[id]
}

// Drop removes the value of an ID. Remaining references to it stay valid.
func (m *Map[K, V]) Drop(id K) {
	m.mu.Lock()
	defer m.mu.Unlock()
	v, is := m.all[id]
	if !is {
		return
	}
	delete(m.all, id)
	if m.Gone != nil {
		m.Gone(v)
	}
}

// Retain removes the values for which wanted returns false. Remaining references to
// them stay valid.
func (m *Map[K, V]) Retain(wanted func(id K, v *V) bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for id, v := range m.all {
		if wanted(id, v) {
			continue
		}
		delete(m.all, id)
		if m.Gone != nil {
			m.Gone(v)
		}
	}
}

// RetainIn is Retain for the IDs that are true in wanted.
func (m *Map[K, V]) RetainIn(wanted map[K]bool) {
	m.Retain(func(id K, _ *V) bool { return wanted[id] })
}

// Forget drops the IDs of left that are not in wanted.
func (m *Map[K, V]) Forget(left, wanted map[K]bool) {
	for id := range left {
		if !wanted[id] {
			m.Drop(id)
		}
	}
}

// Each calls fn for every value, in no order.
func (m *Map[K, V]) Each(fn func(*V)) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, v := range m.all {
		fn(v)
	}
}
