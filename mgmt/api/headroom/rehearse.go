package headroom

import (
	"fmt"
	"slices"
	"strings"

	"github.com/sluicelb/sluice/core/balance"
	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/mgmt/api/rest"
	"github.com/sluicelb/sluice/mgmt/farmstate"
	"github.com/sluicelb/sluice/mgmt/headroom"
	"github.com/sluicelb/sluice/mgmt/rehearsal"
)

// Verdict is whether the others can take over.
type Verdict string

// The verdicts, the worst last.
const (
	Fits    Verdict = "fits"
	Unclear Verdict = "not known"
	Not     Verdict = "does not fit"
)

var severity = []Verdict{Fits, Unclear, Not}

func worse(a, b Verdict) bool { return slices.Index(severity, a) > slices.Index(severity, b) }

// Rehearsal is what became of load when backends were taken out.
type Rehearsal struct {
	Verdict Verdict          `json:"verdict" enum:"fits,not known,does not fit" doc:"The worst of all services"`
	Text    string           `json:"text" doc:"Why, in words"`
	Load    string           `json:"load" enum:"now,peak" doc:"Which load was rehearsed with"`
	Groups  []RehearsedGroup `json:"groups"`
}

// RehearsedGroup is a service, or an l4xnat farm, of which backends were taken out.
type RehearsedGroup struct {
	Farm      string       `json:"farm"`
	Service   string       `json:"service" doc:"Blank in l4xnat farms"`
	Algorithm string       `json:"algorithm" doc:"How the others were chosen"`
	Out       []int        `json:"out" doc:"The ids that were taken out"`
	Moved     float64      `json:"moved" doc:"What they had: requests a second, of an l4xnat farm connections"`
	Refused   float64      `json:"refused" doc:"Of everything, for how much there was nobody, or nobody with room"`
	Verdict   Verdict      `json:"verdict" enum:"fits,not known,does not fit"`
	Text      string       `json:"text"`
	Backends  []TakingOver `json:"backends" doc:"The others"`
}

// TakingOver is a backend that is left.
type TakingOver struct {
	ID          int         `json:"id"`
	IP          string      `json:"ip"`
	Port        *uint16     `json:"port"`
	Status      farm.Status `json:"status"`
	Before      float64     `json:"before" doc:"Requests a second now, or at the peak; of an l4xnat farm connections"`
	After       float64     `json:"after" doc:"The same afterwards"`
	UnderWay    float64     `json:"under_way" doc:"Requests at once afterwards, with the latency of low load; of an l4xnat farm connections"`
	Bend        string      `json:"bend" enum:"seen,not seen,not known,not measurable"`
	Limit       *float64    `json:"limit" doc:"Requests at once at which latency bends; where that was not seen, what it carried well"`
	BaseLatency *float64    `json:"base_latency" doc:"Seconds"`
	Verdict     Verdict     `json:"verdict" enum:"fits,not known,does not fit"`
	Text        string      `json:"text"`
}

func (s *Resource) rehearse(c *rest.Call) (rest.Object[Rehearsal], error) {
	var none rest.Object[Rehearsal]
	if _, err := c.Expected(); err != nil {
		return none, err
	}
	body, err := c.Object(question{})
	if err != nil {
		return none, err
	}
	peak, is := body["peak"].(bool)
	if body["peak"] != nil && !is {
		return none, rest.BadRequest("peak must be true or false")
	}
	o, err := asked(c, body)
	if err != nil {
		return none, err
	}
	var farms []farm.Farm
	for _, g := range o.groups {
		farms = append(farms, *g.Farm)
	}
	m := s.moment(c, farms)
	out := Rehearsal{Verdict: Fits, Load: "now", Groups: []RehearsedGroup{}}
	if peak {
		out.Load = "peak"
	}
	for i, g := range o.groups {
		if err := c.Context.Err(); err != nil { // nobody waits for it any more
			return none, err
		}
		played := m.group(inUse(g), o.out[i], peak)
		if worse(played.Verdict, out.Verdict) || i == 0 {
			out.Verdict, out.Text = played.Verdict, fmt.Sprintf("%s: %s", g, played.Text)
		}
		out.Groups = append(out.Groups, played)
	}
	return rest.Object[Rehearsal]{Description: c.Summary(), Params: out}, nil
}

// inUse is the group as engines have it: backends without an address are out of use.
func inUse(g farm.Group) farm.Group {
	one := &farm.Config{Farms: []farm.Farm{*g.Farm}}
	f := &one.Usable().Farms[0]
	for _, is := range f.Groups() {
		if is.ID() == g.ID() {
			return is
		}
	}
	return g
}

// loads are the backends of a group as they are rehearsed, and what is known of each.
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
	for i := range of { // of one that had nothing to do, what the others need
		if of[i].Time == 0 {
			of[i].Time = 1
			if n > 0 {
				of[i].Time = sum / n
			}
		}
	}
	return of, known
}

// group plays one group.
func (m *moment) group(g farm.Group, out map[int]bool, peak bool) RehearsedGroup {
	of, known := m.loads(g, out, peak)
	rates, refused, mixed := play(g, of)
	a := RehearsedGroup{Farm: g.Farm.Name, Service: g.Name(), Algorithm: balance.ParseOf(g.Choosing()).String(), Out: []int{}, Refused: round(refused), Verdict: Fits, Backends: []TakingOver{}}
	numbers, list := g.Numbers(), g.Backends()
	total, usable := 0.0, 0
	var bad []string
	for i := range list {
		total += of[i].Rate
		if out[i] {
			a.Out, a.Moved = append(a.Out, numbers[i]), a.Moved+of[i].Rate
			continue
		}
		if list[i].Spreads() {
			continue
		}
		t := TakingOver{
			ID: numbers[i], IP: list[i].ShownAddress(), Port: rest.OrNull(list[i].Port), Status: farmstate.InStatistics(farmstate.In(g, i, m.deps.Health)),
			Before: round(of[i].Rate), After: round(rates[i]), UnderWay: round(rates[i] * of[i].Time),
		}
		l := limitsOf(g.Farm, &known[i])
		t.Bend, t.Limit, t.BaseLatency = l.Bend, l.Limit, l.BaseLatency
		t.judge(g.Farm, &known[i], rates[i], of[i])
		if rehearsal.Usable(&list[i], &of[i]) {
			usable++
		} else {
			t.Verdict, t.Text = Fits, "gets nothing: it is "+why(t.Status)
		}
		if worse(t.Verdict, a.Verdict) {
			a.Verdict, bad = t.Verdict, nil
		}
		if t.Verdict == a.Verdict {
			bad = append(bad, fmt.Sprintf("backend %d (%s) %s", t.ID, t.IP, t.Text))
		}
		a.Backends = append(a.Backends, t)
	}
	moved := a.Moved
	a.Moved = round(moved)
	switch {
	case usable == 0:
		a.Verdict, a.Text = Not, "nobody is left who can be used"
	case refused > total/200:
		a.Verdict, a.Text = Not, fmt.Sprintf("limits of the others leave no room for %s of %s %s", headroom.Amount(refused), headroom.Amount(total), unit(g.Farm))
	case mixed:
		a.Verdict, a.Text = Unclear, "some backends share server names and others do not: nobody knows which names the load is for"
	case a.Verdict != Fits:
		a.Text = strings.Join(bad, "; ")
	case moved == 0:
		a.Text = "those that are taken out have nothing to do: rehearse the peak of a day"
	default:
		a.Text = fmt.Sprintf("%s over %s %s, and all stay below their limits", takers(usable), headroom.Amount(moved), unit(g.Farm))
	}
	return a
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

// judge says whether a backend can do what it then gets.
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
