// Package lasting keeps what outlives the tables an engine compiles: loads,
// rotations, sessions, bounds, by stable number. It is asked when a table is
// compiled, and by what runs in the background; what connections use is in their table.
package lasting

import "sync"

// Map is values by id. The zero value is empty and makes zero values. Any
// goroutine may call its methods.
type Map[K comparable, V any] struct {
	// Make makes the value of an id; nil for the zero value. Gone hears of
	// values that are forgotten; nil for nobody. Neither may use the Map, and
	// both are set before the first call.
	Make func(id K) *V
	Gone func(*V)

	mu  sync.Mutex
	all map[K]*V
}

// Of returns the value of an id, a new one if it has none.
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

// Has returns the value of an id, nil if it has none.
func (m *Map[K, V]) Has(id K) *V {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.all[id]
}

// Drop forgets the value of an id. Who holds it may go on using it.
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

// Retain forgets the values that are not wanted. Who holds one may go on using
// it.
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

// RetainIn is Retain of the ids that are true in wanted.
func (m *Map[K, V]) RetainIn(wanted map[K]bool) {
	m.Retain(func(id K, _ *V) bool { return wanted[id] })
}

// Each calls fn for every value, in no order.
func (m *Map[K, V]) Each(fn func(*V)) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, v := range m.all {
		fn(v)
	}
}
