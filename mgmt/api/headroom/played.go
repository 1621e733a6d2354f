package headroom

import (
	"fmt"
	"strings"

	"github.com/sluicelb/sluice/core/balance"
	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/mgmt/api/rest"
	"github.com/sluicelb/sluice/mgmt/farmstate"
	"github.com/sluicelb/sluice/mgmt/headroom"
	"github.com/sluicelb/sluice/mgmt/rehearsal"
)

// loads returns the backends of a group for the rehearsal, and the estimates of each.
func (m *moment) loads(g farm.Group, out map[int]bool, peak bool) (of []rehearsal.Backend, known []headroom.Known) {
	list := g.Backends()
	sum, n := 0.0, 0.0
	for i := range list {
		k := m.known(g.Farm, &list[i])
		b := rehearsal.Backend{Out: out[i], Down: farmstate.Backend(&list[i], m.deps.Health) == farm.StatusDown, Rate: k.Rate, Time: k.Base.Seconds()}
		switch {
		case !headroom.Measurable(g.Farm):
			b.Rate, b.Time = k.Load, 1
		case peak:
			b.Rate = k.PeakRate
		}
		if b.Time == 0 && k.Rate > 0 {
			b.Time = k.Load / k.Rate // Little's law
		}
		if b.Time > 0 {
			sum, n = sum+b.Time, n+1
		}
		of, known = append(of, b), append(known, k)
	}
	for i := range of { // idle backends get the mean of the others
		if of[i].Time == 0 {
			of[i].Time = 1
			if n > 0 {
				of[i].Time = sum / n
			}
		}
	}
	return of, known
}

// group rehearses one group.
func (m *moment) group(g farm.Group, out map[int]bool, peak bool) RehearsedGroup {
	of, known := m.loads(g, out, peak)
	rates, refused, mixed := play(g, of)
	a := RehearsedGroup{Farm: g.Farm.Name, Service: g.Name(), Algorithm: balance.ParseOf(g.Choosing()).String(), Out: []int{}, Refused: round(refused), Verdict: Fits, Backends: []TakingOver{}}
	s := sums{counted: true}
	list := g.Backends()
	for i, number := range g.Numbers() {
		s.total += of[i].Rate
		s.counted = s.counted && (peak || known[i].Counted || list[i].Spreads())
		switch {
		case out[i]:
			a.Out, s.moved = append(a.Out, number), s.moved+of[i].Rate
		case !list[i].Spreads():
			t := m.takingOver(g, i, &known[i], rates[i], of[i])
			if rehearsal.Usable(&list[i], &of[i]) {
				s.usable++
			}
			a.Backends = append(a.Backends, t)
		}
	}
	a.Moved = round(s.moved)
	a.judge(g.Farm, s, refused, mixed)
	return a
}

// sums holds totals over the backends of a group.
type sums struct {
	total, moved float64
	usable       int
	counted      bool // all loads are known
}

// judge decides whether the remaining backends can take over.
func (a *RehearsedGroup) judge(f *farm.Farm, s sums, refused float64, mixed bool) {
	var because []string
	for _, t := range a.Backends {
		if worse(t.Verdict, a.Verdict) {
			a.Verdict, because = t.Verdict, nil
		}
		if t.Verdict == a.Verdict {
			because = append(because, fmt.Sprintf("backend %d (%s) %s", t.ID, t.IP, t.Text))
		}
	}
	switch {
	case s.usable == 0:
		a.Verdict, a.Text = Not, "nobody is left who can be used"
	case !s.counted:
		a.Verdict, a.Text = Unclear, uncounted(f)
	case refused > s.total/200:
		a.Verdict, a.Text = Not, fmt.Sprintf("limits of the others leave no room for %s of %s %s", headroom.Amount(refused), headroom.Amount(s.total), unit(f))
	case mixed:
		a.Verdict, a.Text = Unclear, "some backends share server names and others do not: nobody knows which names the load is for"
	case a.Verdict != Fits:
		a.Text = strings.Join(because, "; ")
	case s.moved < nothing:
		a.Text = "those that are taken out have nothing to do: rehearse the peak of a day"
	default:
		a.Text = fmt.Sprintf("%s over %s %s, and all stay below their limits", takers(s.usable), headroom.Amount(s.moved), unit(f))
	}
}

// nothing is the rate that counts as zero, because averages decay slowly.
const nothing = 0.01

func uncounted(f *farm.Farm) string {
	if headroom.Measurable(f) {
		return "how much is done now is not known yet: ask again in some seconds"
	}
	return notCounted
}

// takingOver describes the backend at a position with its new load.
func (m *moment) takingOver(g farm.Group, i int, k *headroom.Known, rate float64, of rehearsal.Backend) TakingOver {
	b := &g.Backends()[i]
	l := limitsOf(g.Farm, k)
	t := TakingOver{
		ID: g.Number(i), IP: b.ShownAddress(), Port: rest.OrNull(b.Port), Status: farmstate.InStatistics(farmstate.In(g, i, m.deps.Health)),
		Before: round(of.Rate), After: round(rate), UnderWay: round(rate * of.Time), Bend: l.Bend, Limit: l.Limit, BaseLatency: l.BaseLatency,
	}
	if t.judge(g.Farm, k, rate, of); !rehearsal.Usable(b, &of) {
		t.Verdict, t.Text = Fits, "gets nothing: it is "+why(t.Status)
	}
	return t
}

func takers(n int) string {
	if n == 1 {
		return "1 takes"
	}
	return fmt.Sprintf("%d take", n)
}

func why(s farm.Status) string {
	if s == farm.StatusMaintenance {
		return "in maintenance"
	}
	return string(s)
}

func unit(f *farm.Farm) string {
	if headroom.Measurable(f) {
		return "requests a second"
	}
	return "connections"
}

// judge decides whether a backend can handle its new load.
func (t *TakingOver) judge(f *farm.Farm, k *headroom.Known, rate float64, of rehearsal.Backend) {
	load, limit := rate*of.Time, k.Limit()
	at := fmt.Sprintf("has %s at once then", headroom.Amount(load))
	switch {
	case !headroom.Measurable(f) && rate > of.Rate:
		t.Verdict, t.Text = Unclear, fmt.Sprintf("has %s connections then, and its latency is not measurable", headroom.Amount(rate))
	case rate == 0 || k.State == headroom.Unknown && rate <= of.Rate || !headroom.Measurable(f):
		t.Verdict, t.Text = Fits, "gets no more than now"
	case k.State == headroom.Unknown:
		t.Verdict, t.Text = Unclear, at+", and its bend is not known yet"
	case load <= limit && k.State == headroom.Bent:
		t.Verdict, t.Text = Fits, fmt.Sprintf("%s, of the %s at which it bends", at, headroom.Amount(limit))
	case load <= limit:
		t.Verdict, t.Text = Fits, fmt.Sprintf("%s, and carried %s before", at, headroom.Amount(limit))
	case k.State == headroom.Bent:
		t.Verdict, t.Text = Not, fmt.Sprintf("%s, and bends at %s", at, headroom.Amount(limit))
	default:
		t.Verdict, t.Text = Unclear, fmt.Sprintf("%s, and never carried more than %s", at, headroom.Amount(limit))
	}
}
