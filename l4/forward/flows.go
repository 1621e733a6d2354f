package forward

import (
	"errors"
	"math/rand/v2"
	"slices"
	"syscall"

	"github.com/sluicelb/sluice/core/loop"
)

const (
	// flowTick is the interval of checks for idle flows; flowTurns checks cover all of them.
	// Flows thus end within a second of their idle time.
	flowTick  = second / 10
	flowTurns = 10
	// draws is the number of flows compared to find one that has been idle for long.
	draws = 8
	// evictAfter is the minimum silence of a confirmed client before another may take its
	// place.
	evictAfter = second
	// freshRate and freshBurst bound the flows of a loop replaced by new ones, per second
	// and at once. During a flood of invented clients, the existing ones thus get most of
	// the loop.
	freshRate  = 8192
	freshBurst = 64
)

// flows holds the flows of one loop in two unordered lists: unconfirmed and confirmed
// clients.
type flows struct {
	values *loop.FreeList[flow]
	young  []*flow
	sure   []*flow
	timer  *loop.Timer
	armed  bool
	turn   int   // of flowTurns
	credit int64 // flows that may be replaced
	since  int64 // time of the last credit
	w      *worker
}

func newFlows(w *worker) *flows {
	fs := &flows{values: loop.NewFreeList[flow](w.loop), w: w, credit: freshBurst}
	fs.timer = w.loop.NewTimer(fs.tick)
	return fs
}

// list returns the list of a flow.
func (fs *flows) list(f *flow) *[]*flow {
	if f.state == assured {
		return &fs.sure
	}
	return &fs.young
}

func (fs *flows) add(f *flow) {
	list := fs.list(f)
	f.index = int32(len(*list))
	*list = append(*list, f)
	if !fs.armed {
		fs.armed = true
		fs.w.loop.StartTimer(fs.timer, flowTick)
	}
}

func (fs *flows) remove(f *flow) { take(fs.list(f), f) }

func take(list *[]*flow, f *flow) {
	last := len(*list) - 1
	moved := (*list)[last]
	(*list)[f.index], moved.index = moved, f.index
	(*list)[last] = nil
	*list = (*list)[:last]
}

// assure moves a flow to the confirmed ones.
func (fs *flows) assure(f *flow) {
	take(&fs.young, f)
	fs.add(f)
}

// tick ends expired flows in a part of the lists.
func (fs *flows) tick() {
	now := fs.w.loop.Now()
	for _, list := range []*[]*flow{&fs.young, &fs.sure} {
		for i := len(*list) * (fs.turn + 1) / flowTurns; i > len(*list)*fs.turn/flowTurns; {
			i--
			if i >= len(*list) {
				continue
			}
			if f := (*list)[i]; now-f.last > f.farm.flowIdle {
				f.end()
			}
		}
	}
	for range freshBurst { // connections may claim their share
		if fs.w.engine.flows.Load() <= loop.MostUDPConns() || !fs.evict(now, nil) {
			break
		}
	}
	fs.turn = (fs.turn + 1) % flowTurns
	fs.armed = len(fs.young)+len(fs.sure) > 0
	if fs.armed {
		fs.w.loop.StartTimer(fs.timer, flowTick)
	}
}

// evict ends the flow that has been idle longest among some drawn at random. It prefers
// unconfirmed clients and spares the flow not. It returns false if all are in use.
func (fs *flows) evict(now int64, not *flow) bool {
	list := fs.young
	if len(list) == 0 || len(list) == 1 && list[0] == not {
		list = fs.sure
	}
	if len(list) == 0 {
		return false
	}
	var oldest *flow
	for range draws {
		if f := list[rand.IntN(len(list))]; f != not && (oldest == nil || f.last < oldest.last) {
			oldest = f
		}
	}
	if oldest == nil || oldest.state == assured && now-oldest.last < evictAfter {
		return false
	}
	fs.w.farm(oldest.farm).Evicted++
	oldest.abort(evictedFlow)
	return true
}

// fresh reports whether a new flow may replace an existing one now.
func (fs *flows) fresh(now int64) bool {
	if gained := (now - fs.since) * freshRate / second; gained > 0 {
		fs.credit = min(freshBurst, fs.credit+gained)
		fs.since = now
	}
	if fs.credit == 0 {
		return false
	}
	fs.credit--
	return true
}

// admit counts another flow of the engine. If there are too many, an idle flow of this loop
// is evicted. Each loop has its own share, because it can only end its own flows, and the
// kernel distributes clients to loops.
func (w *worker) admit() bool {
	e, fs := w.engine, w.flows
	most, loops := loop.MostUDPConns(), int64(len(e.Workers))
	own := most / (4 * loops)
	if e.flows.Add(1) <= most-own*(loops-1) || int64(len(fs.young)+len(fs.sure)) < own {
		return true
	}
	if now := w.loop.Now(); fs.fresh(now) && fs.evict(now, nil) {
		return true
	}
	e.flows.Add(-1)
	return false
}

func outOfDescriptors(err error) bool {
	return errors.Is(err, syscall.EMFILE) || errors.Is(err, syscall.ENFILE)
}

// reconcile adapts the flow to a new table. It ends if its backend was deleted, cut, or is
// reached differently.
func (f *flow) reconcile(t *table) {
	ft := t.On(f.at.port)
	if ft == nil {
		return // its port is closed, and the flow with it
	}
	i := ft.find(f.to.id)
	if ft.id != f.farm.id || i < 0 || ft.backends[i].mode == cut || ft.backends[i].path != f.to.path ||
		(ft.answers == 0) != (f.farm.answers == 0) {
		f.abort(backendTakenOut)
		return
	}
	countLate(ft, &f.counted)
	f.farm, f.to, f.choice.index = ft, &ft.backends[i], i
	if member, ok := slices.BinarySearch(ft.group.members, i); ok {
		f.choice.member = member
	}
	t.hold(&f.choice, f.to.id)
	if f.shared != nil {
		f.shared.to = f.to
	}
}
