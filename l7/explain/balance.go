package explain

import (
	"fmt"
	"time"

	"github.com/sluicelb/sluice/core/accesslog"
	"github.com/sluicelb/sluice/core/balance"
	"github.com/sluicelb/sluice/core/explain"
	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/l7/table"
)

// balance reports the arguments for and against each backend of the service; chosen is the
// backend picked by the rehearsal.
func (x *explainer) balance(sv *table.Service, chosen int, ok bool) {
	p := sv.Picker
	b := &explain.Balance{Algorithm: p.Algorithm().String(), Pinned: sv.Pinned, Level: p.Level(), Backends: []explain.Backend{}}
	if b.Protocol = "http1"; sv.Multiplexed {
		b.Protocol = "h2"
	}
	x.Balance = b
	might := 0
	for i := range explain.Listed(len(sv.Backends), chosen) {
		be, m := &sv.Backends[i], p.Member(i)
		out := explain.Backend{
			ID: be.Number, Address: be.Origin, Alias: explain.Clip(be.Alias), Weight: m.Weight, Priority: m.Priority, Status: string(m.Slot.Status()),
			InFlight: int64(x.engine.Segment.SumBackend(be.ID).Established), Limit: m.Limit,
			Chosen: ok && i == chosen, Maintenance: string(be.Mode), Cost: p.Cost(i),
		}
		if be.Mode != farm.MaintenanceOff {
			out.Status = string(farm.StatusMaintenance)
		}
		if p.Held(i) != nil {
			out.InFlight = m.Load.Active.Load()
		}
		verdict := p.Verdict(i, balance.Tried{})
		out.Might = verdict == balance.Eligible
		if out.Might {
			might++
		}
		switch {
		case out.Chosen:
			out.Reason = x.chosenBy(p.Algorithm())
		case ok && x.choice.Why != accesslog.WhyAlgorithm && out.Might:
			out.Reason = "not asked: the " + x.choice.Why.String() + " names another"
		default:
			out.Reason = skippedFor(verdict, &out, b)
		}
		if e, is := m.Slot.Ejection(); is && verdict == balance.Down {
			out.Reason = fmt.Sprintf("ejected for %d more seconds at most: %s", max(0, (time.Until(e.Until)+time.Second-1)/time.Second), e.Why())
		}
		b.Backends = append(b.Backends, out)
		if out.Chosen {
			x.chosen = out.Reason
		}
	}
	b.NotShown = len(sv.Backends) - len(b.Backends)
	b.Random = p.Algorithm() == balance.RandomOfTwo && might > 1 && x.choice.Why == accesslog.WhyAlgorithm
}

// chosenBy returns why the backend was chosen.
func (x *explainer) chosenBy(a balance.Algorithm) string {
	switch x.choice.Why {
	case accesslog.WhyCookie:
		return "the client's cookie names it"
	case accesslog.WhySession:
		return "the client's session names it"
	}
	switch a {
	case balance.LeastConnections:
		return "lowest cost: exchanges in flight per weight"
	case balance.ResponseTime:
		return "lowest cost: expected time per weight"
	case balance.PendingConnections:
		return "lowest cost: exchanges without a response per weight"
	case balance.RandomOfTwo:
		return "the better of two drawn by chance"
	case balance.ConsistentHash:
		return "the hash of the client's address"
	}
	return "it is its turn"
}

// skippedFor returns why a backend was not chosen.
func skippedFor(v balance.Verdict, b *explain.Backend, all *explain.Balance) string {
	if why := v.Why(b.Maintenance, b.Priority, b.Limit); why != "" {
		return why
	}
	switch all.Algorithm {
	case balance.RoundRobin.String():
		return "not its turn"
	case balance.RandomOfTwo.String():
		return "could be drawn as well"
	case balance.ConsistentHash.String():
		return "the hash of the client's address leads elsewhere"
	}
	return "costs more per weight than another, or as much and it is not its turn"
}
