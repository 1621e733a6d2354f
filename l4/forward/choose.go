package forward

import (
	"slices"

	"github.com/sluicelb/sluice/core/balance"
	"github.com/sluicelb/sluice/core/revive"
)

// choice is the backend that was found for a tuple.
type choice struct {
	index  int           // of the farm's backends
	member int           // of the picker, for what was tried
	held   *balance.Load // to be released once with Done; may be nil
	// known: a session of the client named the backend.
	known bool
}

// choose finds the backend of a tuple: the one its session names while that can
// serve, else what the algorithm says. now is the wall clock in nanoseconds; b
// is space for a key, which is used up. Traffic of every transport and
// explanations come here; what it changes are picker and sessions, of which
// explanations have copies.
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
	if !ok && f.transparent && tried != (balance.Tried{}) { // they refuse this client and are not down for it
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

// choose is the farm's, with what it cost others counted.
func (w *worker) choose(f *farmTable, t *tuple, tried balance.Tried) (choice, bool) {
	c, ok := f.choose(t, tried, f.clock(), w.key)
	if f.sessions != nil {
		w.farm(f).Forgotten += f.sessions.Forgotten()
	}
	return c, ok
}

// remember makes a session of a choice. Of two loops that see a new client at
// once the later one follows the other.
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
		f.sessions.Put(key, id, now) // instead of one that cannot be kept
	}
	return c
}

// full reports whether the backend of a session, which could not be claimed, had no room
// and nothing else: its client returns to it once there is some, as with farms in the kernel.
func (f *farmTable) full(g *group, id uint32, tried balance.Tried) bool {
	at, known := f.at[id]
	i, here := slices.BinarySearch(g.members, at)
	return known && here && f.backends[at].mode != cut && !tried.Has(i) && g.picker.Up(i)
}

// recall finds the backend a session names: drained ones serve it, those that
// were cut do not.
func (f *farmTable) recall(g *group, key []byte, tried balance.Tried, now int64) (choice, bool) {
	id, ok := f.sessions.Get(key, now, f.persist.ttl)
	if !ok {
		return choice{}, false
	}
	return f.claim(g, id, tried)
}

// claim takes the backend with that number, for who is known to belong there.
func (f *farmTable) claim(g *group, id uint32, tried balance.Tried) (choice, bool) {
	at, known := f.at[id]
	i, here := slices.BinarySearch(g.members, at)
	if !known || !here || f.backends[at].mode == cut || tried.Has(i) || !g.picker.Claim(i) {
		return choice{}, false
	}
	return choice{at, i, g.picker.Held(i), true}, true
}

// attemptTime bounds how long one client tries backends that are down while none
// is usable: the next one should soon have its turn.
const attemptTime = second

// chooseDown finds a backend that is down for a client while none can be used;
// held is the right to try that the client has from before, nil for none.
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

// chooseDown is the farm's for the pair.
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

// attempted ends the right of a pair to try backends that are down.
func (p *pair) attempted() {
	p.attempt.Done()
	p.attempt = nil
}

// revived marks a backend up that was reached while it was down, on the port its
// client used.
func (e *Engine) revived(b *backend, port revive.Port) {
	port = e.told(b, port)
	e.Prober.Revived(b.reach.Reach, e.reachNow(b.id, port))
}
