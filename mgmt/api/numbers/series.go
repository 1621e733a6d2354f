package numbers

import (
	"errors"
	"math"
	"slices"
	"strconv"
	"time"

	"github.com/sluicelb/sluice/mgmt/api/rest"
	"github.com/sluicelb/sluice/mgmt/rbac"
	"github.com/sluicelb/sluice/mgmt/recorder"
	"github.com/sluicelb/sluice/mgmt/timeseries"
)

// Numbers stores statistics over time; *timeseries.DB implements it.
type Numbers interface {
	Read(object string, from, to, now time.Time, series ...string) (timeseries.Points, error)
}

func (s *Resource) seriesOperations() []*rest.Operation {
	if s.deps.Numbers == nil || s.deps.Usage == nil {
		return nil
	}
	series := func(path, summary string, handler func(*rest.Call) (rest.Object[SeriesView], error)) *rest.Operation {
		return rest.Op(rest.Get, path+"/series", rbac.Open, summary, handler).
			With("last", "Period up to now, e.g. 15m, 6h or 7d; defaults to 1h").
			With("from", "Start time, e.g. 2026-11-23T12:00:00Z, instead of last").
			With("to", "End time; defaults to now")
	}
	return []*rest.Operation{
		series("/stats/farms/{farm}", "Get time series of a farm", s.farmSeries),
		series("/stats/farms/{farm}/backends/{backend}", "Get time series of a backend of an l4xnat farm", s.backendSeries),
		series("/stats/farms/{farm}/services/{service}", "Get time series of a service (sums over its backends)", s.serviceSeries),
		series("/stats/farms/{farm}/services/{service}/backends/{backend}", "Get numbers over time of a backend", s.backendSeries),
		series("/stats/system", "Get time series of the machine", s.systemSeries),
		series("/stats/system/network/interfaces/{interface}", "Get time series of a network interface", s.interfaceSeries),
	}
}

// known is a value; NaN is encoded as null and means unknown.
type known float64

// MarshalJSON implements json.Marshaler.
func (k known) MarshalJSON() ([]byte, error) {
	if math.IsNaN(float64(k)) {
		return []byte("null"), nil
	}
	return strconv.AppendFloat(nil, float64(k), 'g', 4, 64), nil
}

// Schema describes a number or null.
func (known) Schema(rest.Registry) *rest.Schema {
	return &rest.Schema{Type: rest.TypeNumber, Nullable: true}
}

// SeriesItem is one series.
type SeriesItem struct {
	Name   string  `json:"name"`
	Unit   string  `json:"unit" doc:"/s is a mean per second, B bytes, s seconds; empty is a count"`
	Help   string  `json:"help"`
	Values []known `json:"values" doc:"Mean per step, or maximum where the help says so; null if unknown"`
}

// SeriesView holds series. Value i covers the step that starts at start + i·step.
type SeriesView struct {
	Start  time.Time    `json:"start"`
	Step   int          `json:"step" doc:"Step in seconds, longer for older data: 5, 60, 300 or 3600"`
	Series []SeriesItem `json:"series"`
}

// span is the period of a query.
type span struct{ from, to, now time.Time }

// span reads last, from and to.
func (s *Resource) span(c *rest.Call) (out span, err error) {
	out.now = s.deps.Now()
	out.to = out.now
	if text := c.Query("to"); text != "" {
		if out.to, err = time.Parse(time.RFC3339, text); err != nil {
			return out, badTime("to", text)
		}
	}
	from, last := c.Query("from"), c.Query("last")
	switch {
	case from != "" && last != "":
		return out, rest.BadRequest("from and last: only one of them can be given")
	case from != "":
		if out.from, err = time.Parse(time.RFC3339, from); err != nil {
			return out, badTime("from", from)
		}
	default:
		back, ok := rest.ParseBack(last)
		if !ok {
			return out, rest.BadRequest("last: %s is not allowed, allowed are times such as 15m, 6h or 7d, of a year at most", rest.Quote(last))
		}
		out.from = out.to.Add(-back)
	}
	if !out.from.Before(out.to) {
		return out, rest.BadRequest("from: it is not before to")
	}
	return out, nil
}

func badTime(name, text string) error {
	return rest.BadRequest("%s: %s is no time, write one like 2026-11-23T12:00:00Z", name, rest.Quote(text))
}

// numbers responds with series of an object.
func (s *Resource) numbers(c *rest.Call, object string, list []recorder.Series, names []string) (rest.Object[SeriesView], error) {
	at, err := s.span(c)
	if err != nil {
		return rest.Object[SeriesView]{}, err
	}
	p, err := s.points(object, at, names)
	if err != nil {
		return rest.Object[SeriesView]{}, err
	}
	out := SeriesView{Start: p.Start.UTC(), Step: int(p.Step / time.Second), Series: []SeriesItem{}}
	for i, s := range list {
		out.Series = append(out.Series, item(s, p.Values[i]))
	}
	return rest.Object[SeriesView]{Description: c.Summary(), Params: out}, nil
}

func item(s recorder.Series, values []float64) SeriesItem {
	out := SeriesItem{Name: s.Name, Unit: s.Unit, Help: s.Help, Values: make([]known, len(values))}
	for i, v := range values {
		out.Values[i] = known(v)
	}
	return out
}

// points reads series of an object. All values of an object without records are unknown,
// as in the first seconds of a farm.
func (s *Resource) points(object string, at span, names []string) (timeseries.Points, error) {
	p, err := s.deps.Numbers.Read(object, at.from, at.to, at.now, names...)
	if errors.Is(err, timeseries.ErrNone) {
		return timeseries.Unknown(at.from, at.to, at.now, len(names)), nil
	}
	return p, err
}

func seriesNames(list []recorder.Series) (out []string) {
	for _, s := range list {
		out = append(out, s.Name)
	}
	return out
}

func (s *Resource) farmSeries(c *rest.Call) (rest.Object[SeriesView], error) {
	f, err := c.Farm()
	if err != nil {
		return rest.Object[SeriesView]{}, err
	}
	list := recorder.OfFarm(f)
	return s.numbers(c, recorder.Farm(f.ID), list, seriesNames(list))
}

func (s *Resource) systemSeries(c *rest.Call) (rest.Object[SeriesView], error) {
	return s.numbers(c, recorder.System, recorder.OfSystem, seriesNames(recorder.OfSystem))
}

func (s *Resource) interfaceSeries(c *rest.Call) (rest.Object[SeriesView], error) {
	name, err := s.interfaceNamed(c.Param("interface"))
	if err != nil {
		return rest.Object[SeriesView]{}, err
	}
	return s.numbers(c, recorder.Interface(name), recorder.OfInterfaces, seriesNames(recorder.OfInterfaces))
}

// interfaceNamed finds a network interface of this machine.
func (s *Resource) interfaceNamed(name string) (string, error) {
	if !slices.Contains(s.interfaceNames(), name) {
		return "", rest.NotFound("the interface %s does not exist", rest.Quote(name))
	}
	return name, nil
}

func (s *Resource) interfaceNames() []string {
	out := []string{}
	for _, i := range s.deps.Usage().Interfaces {
		out = append(out, i.Name)
	}
	return out
}

func (s *Resource) backendSeries(c *rest.Call) (rest.Object[SeriesView], error) {
	at, err := c.Backend()
	if err != nil {
		return rest.Object[SeriesView]{}, err
	}
	f, err := c.Farm()
	if err != nil {
		return rest.Object[SeriesView]{}, err
	}
	return s.numbers(c, recorder.Farm(f.ID), recorder.OfBackends, namesOf(at.ID))
}

func namesOf(backend uint32) (out []string) {
	for _, s := range recorder.OfBackends {
		out = append(out, recorder.OfBackend(backend, s.Name))
	}
	return out
}

// serviceSeries responds with the sums over the current backends of a service.
func (s *Resource) serviceSeries(c *rest.Call) (rest.Object[SeriesView], error) {
	g, err := c.Group()
	if err != nil {
		return rest.Object[SeriesView]{}, err
	}
	at, err := s.span(c)
	if err != nil {
		return rest.Object[SeriesView]{}, err
	}
	var names []string
	for _, b := range g.Backends() {
		names = append(names, namesOf(b.ID)...)
	}
	p, err := s.points(recorder.Farm(g.Farm.ID), at, names)
	if err != nil {
		return rest.Object[SeriesView]{}, err
	}
	out := SeriesView{Start: p.Start.UTC(), Step: int(p.Step / time.Second), Series: []SeriesItem{}}
	for i, of := range recorder.OfBackends {
		var sum []float64
		for j := i; j < len(p.Values); j += len(recorder.OfBackends) {
			sum = plus(sum, p.Values[j])
		}
		out.Series = append(out.Series, item(of, sum))
	}
	return rest.Object[SeriesView]{Description: c.Summary(), Params: out}, nil
}

// plus adds values. If only one of two values is known, the sum is that value.
func plus(sum, values []float64) []float64 {
	if sum == nil {
		return slices.Clone(values)
	}
	for i, v := range values {
		switch {
		case math.IsNaN(sum[i]):
			sum[i] = v
		case !math.IsNaN(v):
			sum[i] += v
		}
	}
	return sum
}
