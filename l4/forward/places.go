package forward

import "sync/atomic"

// places counts what a farm has under way whose number is bounded, over all
// loops and tables.
type places struct{ taken atomic.Int64 }

// enter takes a place if fewer than limit are taken.
func (p *places) enter(limit int64) bool {
	for {
		n := p.taken.Load()
		if n >= limit {
			return false
		}
		if p.taken.CompareAndSwap(n, n+1) {
			return true
		}
	}
}

// leave gives a place back; on nil it does nothing.
func (p *places) leave() {
	if p != nil {
		p.taken.Add(-1)
	}
}

// occupy counts what came in before its farm had a bound.
func occupy(f *farmTable, place **places) {
	if f != nil && f.places != nil && *place == nil {
		f.places.taken.Add(1)
		*place = f.places
	}
}
