package proxy

import (
	"github.com/sluicelb/sluice/core/loop"
	"github.com/sluicelb/sluice/l7/dial"
	"github.com/sluicelb/sluice/l7/http2"
)

// trunks are the connections of HTTP/2 to backends of one loop.
type trunks struct {
	w      *worker
	shared *http2.Shared  // nil before the first
	places []*destination // by backend number; nil where there was none
	free   *loop.FreeList[lane]
}

// destination is the trunks to one backend.
type destination struct {
	trunks  []*trunk
	streams int // it allows at once, as it said last
}

const (
	// assumedLanes is how many streams a backend is believed to allow before
	// it has said so: the least it should (RFC 9113 section 6.5.2).
	assumedLanes = 100
	// maxTrunks is how many connections to a backend there may be before idle
	// ones give way. With TLS each name that is asked for has its own, and
	// clients choose names.
	maxTrunks = 64
	// maxOnce is how many of these may be such that one exchange used, before
	// they give way to each other: names can be invented.
	maxOnce = maxTrunks / 8
)

// lane gives the exchange a lane to the target: on a trunk that has room for
// it, or else on a new one. A lane that is not reused waits for its connection.
func (p *trunks) lane(to *dial.Target, ex *exchange) (*lane, error) {
	d := p.place(to.ID)
	for _, t := range d.trunks {
		if t.fits(to) && t.room(ex.fresh) {
			return t.add(ex), nil
		}
	}
	if len(d.trunks) >= maxTrunks {
		d.evict()
	}
	t := &trunk{w: p.w, target: *to, place: d, most: maxLanes, began: p.w.loop.Now()}
	t.target.Options.Preface = nil // which is of one client
	up, err := p.w.pool.Dial(&t.target, t)
	if err != nil {
		return nil, err
	}
	t.up = up
	d.trunks = append(d.trunks, t)
	return t.add(ex), nil
}

func (p *trunks) place(id uint32) *destination {
	if p.free == nil {
		p.free = loop.NewFreeList[lane](p.w.loop)
	}
	for int(id) >= len(p.places) {
		p.places = append(p.places, nil)
	}
	if p.places[id] == nil {
		p.places[id] = &destination{streams: assumedLanes}
	}
	return p.places[id]
}

// fits reports whether the trunk leads where the target says, with the same
// security.
func (t *trunk) fits(to *dial.Target) bool {
	return t.leads(to) && t.target.Options.Security == to.Options.Security
}

// leads reports whether the trunk goes where, and comes from where, the target
// says.
func (t *trunk) leads(to *dial.Target) bool {
	have, want := &t.target.Options, &to.Options
	return t.target.Addr == to.Addr && have.Source == want.Source && have.Mark == want.Mark
}

// add puts a lane for the exchange on the trunk.
func (t *trunk) add(ex *exchange) *lane {
	ln := t.w.trunks.free.Get()
	ln.trunk, ln.ex, ln.reused = t, ex, t.stands
	t.often = t.often || t.some
	t.some = true
	if ln.reused && ex.upgrade && !t.h2.Settled() {
		ln.await()
	}
	ln.prev = t.tail
	if t.tail != nil {
		t.tail.next = ln
	} else {
		t.head = ln
	}
	t.tail = ln
	t.lanes++
	return ln
}

// remove takes a lane off the trunk.
func (t *trunk) remove(ln *lane) {
	if ln.prev != nil {
		ln.prev.next = ln.next
	} else {
		t.head = ln.next
	}
	if ln.next != nil {
		ln.next.prev = ln.prev
	} else {
		t.tail = ln.prev
	}
	t.lanes--
	if t.lanes == 0 {
		t.idleAt = t.w.loop.Now()
		if t.up != nil && !t.busy && t.over() {
			t.again()
		}
	}
}

// remove takes a trunk out of the list of those that take lanes.
func (d *destination) remove(t *trunk) {
	for i, v := range d.trunks {
		if v == t {
			d.trunks = append(d.trunks[:i], d.trunks[i+1:]...)
			return
		}
	}
}

// evict lets the trunk go that has been idle for longest; of those that only one
// exchange used, as long as there are some.
func (d *destination) evict() {
	var oldest, once *trunk
	invented := 0
	for _, t := range d.trunks {
		if !t.often {
			invented++
		}
		switch {
		case !t.stands || t.lanes > 0:
		case t.often && (oldest == nil || t.idleAt < oldest.idleAt):
			oldest = t
		case !t.often && (once == nil || t.idleAt < once.idleAt):
			once = t
		}
	}
	if once != nil && (oldest == nil || invented > maxOnce) {
		oldest = once
	}
	if oldest != nil {
		oldest.leave()
	}
}

// settle lets the trunks go whose backends are gone, out of use or elsewhere.
func (p *trunks) settle(tb *table) {
	for id, d := range p.places {
		if d == nil {
			continue
		}
		b := tb.backends[uint32(id)]
		for i := len(d.trunks) - 1; i >= 0; i-- {
			t := d.trunks[i]
			if b == nil || b.mode != modeInUse || !t.leads(&b.target) {
				t.leave()
			}
		}
	}
}

// http2Client is what the connections of HTTP/2 to backends have in common.
func (w *worker) http2Client() *http2.Shared {
	if w.trunks.shared == nil {
		w.trunks.shared = http2.NewShared(http2.ClientLimits(), &w.loop.Buffers, w.loop.Now)
		if w.frames == nil {
			w.frames = make([]byte, framesRead)
		}
	}
	return w.trunks.shared
}
