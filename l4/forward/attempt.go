package forward

import (
	"github.com/sluicelb/sluice/core/balance"
	"github.com/sluicelb/sluice/core/revive"
)

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
