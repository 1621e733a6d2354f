package forward

import (
	"slices"

	"github.com/sluicelb/sluice/core/balance"
	"github.com/sluicelb/sluice/core/revive"
)

// choice is the backend selected for a tuple.
type choice struct {
	index  int           // in the farm's backends
	member int           // in the picker, to record attempts
	held   *balance.Load // to release once with Done; may be nil
	// known means that a session of the client selected the backend.
	known bool
}

// choose selects the backend of a tuple: the backend of its session if it can serve,
// otherwise one by the algorithm. The parameter now is the wall clock in nanoseconds, and b
// is scratch space for a key. Traffic of every transport and explanations call choose.
// Explanations pass copies of the picker and sessions, because it modifies them.
func (f *farmTable) choose(t *tuple, tried balance.Tried, now int64, b []byte) (choice, bool) {
	g := t.group
	if g == nil {
		g = &f.group
	}
	g = f.on(g, t.port)
	var key []byte
	if f.sessions != nil {
		key = f.persist.appendKey(b[:0], t)
		if c, ok := f.recall(g, key, tried, now); ok {
			return c, true
		}
	}
	i, ok := g.picker.Pick(f.hash.of(t), tried)
	if !ok && f.transparent && tried != (balance.Tried{}) { // they refuse this client but may be up for others
		i, ok = g.picker.Beyond(tried)
	}
	if !ok {
		return choice{}, false
	}
	c := choice{index: g.members[i], member: i, held: g.picker.Held(i)}
	if key != nil {
		c = f.remember(g, key, c, tried, now)
	}
	return c, true
}

// choose is farmTable.choose that counts evicted sessions.
func (w *worker) choose(f *farmTable, t *tuple, tried balance.Tried) (choice, bool) {
	c, ok := f.choose(t, tried, f.clock(), w.key)
	if f.sessions != nil {
		w.farm(f).Forgotten += f.sessions.Forgotten()
	}
	return c, ok
}

// remember creates a session for a choice. If two loops see a new client at the same time,
// the later one follows the earlier.
func (f *farmTable) remember(g *group, key []byte, c choice, tried balance.Tried, now int64) choice {
	id := f.backends[c.index].id
	owner, added := f.sessions.PutIfAbsent(key, id, now, f.persist.ttl)
	if added || owner == id {
		return c
	}
	if first, ok := f.claim(g, owner, tried); ok {
		c.held.Done()
		return first
	}
	if !f.full(g, owner, tried) {
		f.sessions.Put(key, id, now) // replaces one that cannot be followed
	}
	return c
}

// full reports whether the backend of a session could not be claimed only because it is
// full. Its client returns to it once there is room, as in kernel farms.
func (f *farmTable) full(g *group, id uint32, tried balance.Tried) bool {
	at, known := f.at[id]
	i, here := slices.BinarySearch(g.members, at)
	return known && here && f.backends[at].mode != cut && !tried.Has(i) && g.picker.Up(i)
}

// recall claims the backend of a session. Drained backends serve it, cut ones do not.
func (f *farmTable) recall(g *group, key []byte, tried balance.Tried, now int64) (choice, bool) {
	id, ok := f.sessions.Get(key, now, f.persist.ttl)
	if !ok {
		return choice{}, false
	}
	return f.claim(g, id, tried)
}

// claim claims the backend with that number for a client that belongs there.
func (f *farmTable) claim(g *group, id uint32, tried balance.Tried) (choice, bool) {
	at, known := f.at[id]
	i, here := slices.BinarySearch(g.members, at)
	if !known || !here || f.backends[at].mode == cut || tried.Has(i) || !g.picker.Claim(i) {
		return choice{}, false
	}
	return choice{at, i, g.picker.Held(i), true}, true
}

// attemptTime bounds the attempts of one client to reach down backends while none is usable,
// so that the next one soon has its turn.
const attemptTime = second

// chooseDown selects a down backend for a client while none is usable. held is the client's
// earlier right to try, or nil.
func (f *farmTable) chooseDown(t *tuple, tried balance.Tried, held *balance.Attempt) (choice, *balance.Attempt) {
	g := t.group
	if g == nil {
		g = &f.group
	}
	g = f.on(g, t.port)
	i, right := g.picker.Attempt(-1, tried, held)
	if i < 0 {
		return choice{}, nil
	}
	return choice{index: g.members[i], member: i, held: g.picker.Held(i)}, right
}

// chooseDown is farmTable.chooseDown for the pair.
func (p *pair) chooseDown(t *tuple) (choice, bool) {
	now := p.w.loop.Now()
	if p.attempt != nil && now-p.trying >= attemptTime {
		return choice{}, false
	}
	c, right := p.farm.chooseDown(t, p.tried, p.attempt)
	if right == nil {
		return choice{}, false
	}
	if p.attempt == nil {
		p.attempt, p.trying = right, now
	}
	return c, true
}

// attempted ends a pair's right to try down backends.
func (p *pair) attempted() {
	p.attempt.Done()
	p.attempt = nil
}

// revived marks a backend up that was reached while it was down, for the port that its
// client used.
func (e *Engine) revived(b *backend, port revive.Port) {
	port = e.told(b, port)
	e.Prober.Revived(b.reach.Reach, e.reachNow(b.id, port))
}
