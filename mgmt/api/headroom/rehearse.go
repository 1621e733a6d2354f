package headroom

import (
	"context"
	"fmt"
	"slices"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/mgmt/api/rest"
)

// Verdict tells whether the remaining backends can take over.
type Verdict string

// Verdicts, worst last.
const (
	Fits    Verdict = "fits"
	Unclear Verdict = "not known"
	Not     Verdict = "does not fit"
)

var severity = []Verdict{Fits, Unclear, Not}

func worse(a, b Verdict) bool { return slices.Index(severity, a) > slices.Index(severity, b) }

// Rehearsal is the result of removing backends.
type Rehearsal struct {
	Verdict Verdict          `json:"verdict" enum:"fits,not known,does not fit" doc:"Worst status of all services"`
	Text    string           `json:"text" doc:"Reason, as text"`
	Load    string           `json:"load" enum:"now,peak" doc:"Load used for the simulation"`
	Groups  []RehearsedGroup `json:"groups"`
}

// RehearsedGroup is a service or an l4xnat farm from which backends were removed.
type RehearsedGroup struct {
	Farm      string       `json:"farm"`
	Service   string       `json:"service" doc:"Empty for l4xnat farms"`
	Algorithm string       `json:"algorithm" doc:"Algorithm for choosing the other backends"`
	Out       []int        `json:"out" doc:"IDs of the removed backends"`
	Moved     float64      `json:"moved" doc:"Previous load in requests per second; for an l4xnat farm, connections"`
	Refused   float64      `json:"refused" doc:"Traffic that found no backend, or none with free capacity"`
	Verdict   Verdict      `json:"verdict" enum:"fits,not known,does not fit" doc:"true if the others have enough capacity"`
	Text      string       `json:"text" doc:"Reason, as text"`
	Backends  []TakingOver `json:"backends" doc:"Other entries"`
}

// TakingOver is a remaining backend.
type TakingOver struct {
	ID          int         `json:"id"`
	IP          string      `json:"ip"`
	Port        *uint16     `json:"port"`
	Status      farm.Status `json:"status"`
	Before      float64     `json:"before" doc:"Requests per second now, or at peak; for an l4xnat farm, connections"`
	After       float64     `json:"after" doc:"Value afterwards"`
	UnderWay    float64     `json:"under_way" doc:"Requests in flight afterwards, at low-load latency; for an l4xnat farm, connections"`
	Bend        string      `json:"bend" enum:"seen,not seen,not known,not measurable" doc:"true if saturation was observed"`
	Limit       *float64    `json:"limit" doc:"Number of requests in flight at saturation; if not observed, the highest number handled well"`
	BaseLatency *float64    `json:"base_latency" doc:"Seconds"`
	Verdict     Verdict     `json:"verdict" enum:"fits,not known,does not fit" doc:"true if the data path supports it"`
	Text        string      `json:"text" doc:"Reason, as text"`
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
	peak := false
	if err := rest.SetTruth(body, "peak", &peak); err != nil {
		return none, err
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
	ctx, cancel := context.WithTimeout(c.Context, longest)
	defer cancel()
	for i, g := range o.groups {
		var played RehearsedGroup
		if err := s.stage.play(ctx, func() { played = m.group(inUse(g), o.out[i], peak) }); err != nil {
			return none, err
		}
		if worse(played.Verdict, out.Verdict) || i == 0 {
			out.Verdict, out.Text = played.Verdict, fmt.Sprintf("%s: %s", g, played.Text)
		}
		out.Groups = append(out.Groups, played)
	}
	return rest.Object[Rehearsal]{Description: c.Summary(), Params: out}, nil
}

// inUse returns the group as engines see it, with backends without an address out of use.
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
