package forward

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/sluicelb/sluice/core/accesslog"
	"github.com/sluicelb/sluice/core/ascii"
	"github.com/sluicelb/sluice/core/balance"
	"github.com/sluicelb/sluice/core/explain"
	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/core/revive"
	"github.com/sluicelb/sluice/core/session"
)

// A connection is explained by the selection used for traffic, with copies of the state it
// changes: rotations, loads and sessions.

// Steps of an explanation.
const (
	stepClients  = "clients"
	stepName     = "server-name"
	stepBackends = "backends"
)

// RunsFarm implements engine.Engine.
func (e *Engine) RunsFarm(farm uint32) bool { return e.table.Load().ByID[farm] != nil }

// Explain returns the backend that a connection or datagram would get now. From and To are
// addresses with optional ports, Protocol is the client's protocol, and SNI its TLS server
// name. Other fields of the question are for other farms. It is safe for concurrent use.
// Errors are about the question.
func (e *Engine) Explain(q *explain.Question) (*explain.Explanation, error) {
	t := e.table.Load()
	f := t.ByID[q.Farm]
	if f == nil {
		return nil, errors.New("the engine does not serve the farm")
	}
	asked, err := f.asked(q)
	if err != nil {
		return nil, err
	}
	x := &explainer{farm: f, engine: e, port: asked.port, Explanation: &explain.Explanation{
		Farm: f.name, Listener: asked.local.String(), Generation: t.generation, From: asked.client.String(),
	}}
	x.run(asked, q.SNI)
	return x.Explanation, nil
}

// asked parses the client and target addresses.
func (f *farmTable) asked(q *explain.Question) (t tuple, err error) {
	t.client = netip.AddrPortFrom(netip.AddrFrom4([4]byte{127, 0, 0, 1}), 40000)
	if f.local.Is6() {
		t.client = netip.AddrPortFrom(netip.IPv6Loopback(), 40000)
	}
	t.local = f.listeners[0].Addr
	for _, part := range []struct {
		text string
		to   *netip.AddrPort
	}{{q.From, &t.client}, {q.To, &t.local}} {
		if part.text == "" {
			continue
		}
		addr, err := netip.ParseAddr(part.text)
		if err == nil {
			*part.to = netip.AddrPortFrom(addr.Unmap(), part.to.Port())
			continue
		}
		both, err := netip.ParseAddrPort(part.text)
		if err != nil {
			return t, fmt.Errorf("%.64q is no address, and no address with a port", part.text)
		}
		*part.to = netip.AddrPortFrom(both.Addr().Unmap(), both.Port())
	}
	if t.port.UDP, err = f.asksUDP(q.Protocol); err != nil {
		return t, err
	}
	t.port.Number = t.local.Port()
	for _, l := range f.listeners {
		if l.Addr.Port() == t.local.Port() && (l.Addr.Addr() == t.local.Addr() || f.local.IsUnspecified()) {
			return t, nil
		}
	}
	return t, fmt.Errorf("the farm does not listen on %s", t.local)
}

// asksUDP parses the client's protocol.
func (f *farmTable) asksUDP(protocol string) (bool, error) {
	has := f.protocol.Transports()
	switch asked := farm.L4Protocol(protocol); {
	case protocol == "":
		return has[0] == farm.L4UDP, nil
	case !slices.Contains(has, asked):
		return false, fmt.Errorf("the farm takes no %.64s: its protocol is %s", protocol, f.protocol)
	default:
		return asked == farm.L4UDP, nil
	}
}

// explainer is an explanation in progress.
type explainer struct {
	*explain.Explanation
	engine *Engine
	farm   *farmTable
	port   revive.Port // virtual port
}

func (x *explainer) step(name string, passed bool, format string, args ...any) {
	x.Steps = append(x.Steps, explain.Step{Name: name, Passed: passed, Reason: explain.Clip(fmt.Sprintf(format, args...))})
}

// refuse ends the explanation: the client is not served.
func (x *explainer) refuse(step, reason string) {
	x.step(step, false, "%s", reason)
	x.Result = explain.Result{Outcome: explain.Refuse, Reason: reason, Step: step}
}

func (x *explainer) run(t tuple, name string) {
	f := x.farm
	if f.conns != nil {
		taken := f.conns.open.Load()
		if taken >= f.maxConns {
			x.refuse(stepClients, fmt.Sprintf("%d of %d: others are refused", taken, f.maxConns))
			return
		}
		x.step(stepClients, true, "%d of %d", taken, f.maxConns)
	}
	g := &f.group
	if f.names != nil {
		x.SNI = explain.Clip(name)
		if named := f.names.find(ascii.AppendLower(nil, []byte(strings.TrimSuffix(name, ".")))); named != nil {
			g = named
			x.step(stepName, true, "the backends for this name")
		} else {
			x.step(stepName, true, "no backend is for this name: those without names")
		}
	}
	g = f.on(g, x.port)
	now := session.Now()
	rehearsal := *f
	rehearsed := group{g.picker.Copy(), g.members}
	t.group = &rehearsed
	var key []byte
	var held session.Session
	var known bool
	if f.sessions != nil {
		key = f.persist.appendKey(nil, &t)
		rehearsal.sessions = session.New(1)
		if held, known = f.sessions.Peek(key, now, f.persist.ttl); known {
			rehearsal.sessions.Put(key, held.Backend, now)
		}
	}
	c, ok := rehearsal.choose(&t, balance.Tried{}, now, nil)
	if f.sessions != nil {
		x.persistence(key, held, known, c, ok)
	}
	x.balance(g, c, ok)
	if !ok {
		x.refuse(stepBackends, "no backend can be used now")
		return
	}
	x.step(stepBackends, true, "%s", x.reason(c, g))
	why := accesslog.WhyAlgorithm
	if c.known {
		why = accesslog.WhySession
	}
	x.Result = explain.Result{
		Outcome: explain.Forward, Backend: &f.backends[c.index].number, Address: f.backends[c.index].to(t.local.Port()).String(),
		Decision: why.String(), Reason: x.reason(c, g),
	}
}

// persistence reports the effect of the client's session.
func (x *explainer) persistence(key []byte, held session.Session, known bool, c choice, ok bool) {
	p := &explain.Persistence{Kind: string(x.farm.persist.kind), Key: string(key), Found: known, Static: held.Static}
	x.Persistence = p
	if known {
		if i := x.farm.find(held.Backend); i >= 0 {
			p.Backend = &x.farm.backends[i].number
		}
	}
	switch {
	case c.known:
		p.Reason = "the session names the backend"
	case known && p.Backend == nil:
		p.Reason = "the backend of the session is gone"
	case known:
		p.Reason = fmt.Sprintf("backend %d of the session cannot be used", *p.Backend)
	case !ok:
		p.Reason = "no session, and no backend it could name"
	default:
		p.Reason = fmt.Sprintf("no session: one with backend %d would be made", x.farm.backends[c.index].number)
	}
}

// balance reports the arguments for and against each backend.
func (x *explainer) balance(g *group, c choice, ok bool) {
	f, p := x.farm, g.picker
	b := &explain.Balance{Algorithm: string(f.algorithm), Protocol: transport(x.port), Level: p.Level(), Backends: []explain.Backend{}}
	x.Balance = b
	for i := range explain.Listed(len(g.members), c.member) {
		at := g.members[i]
		be, m := &f.backends[at], p.Member(i)
		out := explain.Backend{
			ID: be.number, Address: be.to(x.port.Number).String(), Alias: explain.Clip(be.reach.Alias), Weight: m.Weight, Priority: m.Priority, Status: string(m.Slot.Status()),
			InFlight: int64(x.engine.Segment.SumBackend(be.id).Established), Limit: m.Limit,
			Chosen: ok && at == c.index, Maintenance: string(be.mode), Cost: p.Cost(i),
		}
		if be.mode != farm.MaintenanceOff {
			out.Status = string(farm.StatusMaintenance)
		}
		if p.Held(i) != nil {
			out.InFlight = m.Load.Active.Load()
		}
		verdict := p.Verdict(i, balance.Tried{})
		if verdict == balance.Down { // possibly only on this port
			out.Status = string(farm.StatusDown)
		}
		out.Might = verdict == balance.Eligible
		if out.Chosen {
			out.Reason = x.reason(c, g)
		} else {
			out.Reason = skipped(verdict, p.Algorithm(), &out, c.known)
		}
		b.Backends = append(b.Backends, out)
	}
	b.NotShown = len(g.members) - len(b.Backends)
}

func transport(p revive.Port) string {
	if p.UDP {
		return string(farm.L4UDP)
	}
	return string(farm.L4TCP)
}

// reason returns why the backend was selected.
func (x *explainer) reason(c choice, g *group) string {
	if c.known {
		return "the client's session names it"
	}
	switch g.picker.Algorithm() {
	case balance.LeastConnections:
		return "fewest connections per weight"
	case balance.ConsistentHash:
		return "the hash of the connection's addresses"
	case balance.First:
		return "the first by priority"
	}
	return "it is its turn"
}

// skipped returns why a backend was not selected.
func skipped(v balance.Verdict, a balance.Algorithm, b *explain.Backend, known bool) string {
	why := v.Why(b.Maintenance, b.Priority, b.Limit)
	switch {
	case why != "":
		return why
	case known:
		return "not asked: the session names another"
	case a == balance.ConsistentHash:
		return "the hash of the connection's addresses leads elsewhere"
	case a == balance.LeastConnections:
		return "more connections per weight than another, or as many and it is not its turn"
	case a == balance.First:
		return "another comes first by priority"
	}
	return "not its turn"
}
