package headroom

import (
	"fmt"
	"math"
	"strings"

	"github.com/sluicelb/sluice/core/balance"
	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/mgmt/api/rest"
	"github.com/sluicelb/sluice/mgmt/farmstate"
	"github.com/sluicelb/sluice/mgmt/headroom"
)

// BackendHeadroom is the spare capacity of a backend. null means unknown.
type BackendHeadroom struct {
	Farm    string      `json:"farm"`
	Service string      `json:"service" doc:"Empty for l4xnat farms"`
	ID      int         `json:"id"`
	IP      string      `json:"ip"`
	Port    *uint16     `json:"port" doc:"null if a backend of an l4xnat farm keeps the client's port"`
	Alias   string      `json:"alias,omitempty" doc:"Own alias, or the alias of its address"`
	Status  farm.Status `json:"status"`
	Room

	Text            string `json:"text" doc:"Latency summary, as text"`
	ConnectionLimit *int   `json:"connection_limit" doc:"Recommended maximum number of requests in flight"`
	Weight          *int   `json:"weight" doc:"Recommended weight, once saturation of all backends of the service has been observed"`
	Advice          string `json:"advice" doc:"Recommended change with the reason; empty if none"`
}

// Room holds its numbers.
type Room struct {
	Bend         string   `json:"bend" enum:"seen,not seen,not known,not measurable" doc:"true if saturation was observed"`
	Limit        *float64 `json:"limit" doc:"Number of requests in flight at saturation; if not observed, the highest number handled well (a lower bound)"`
	BaseLatency  *float64 `json:"base_latency" doc:"Time to first byte at low load, in seconds"`
	Rate         *float64 `json:"rate" doc:"Requests per second at the limit"`
	UnderWay     float64  `json:"under_way" doc:"Requests in flight, averaged over 30 seconds; for an l4xnat farm, connections"`
	Peak         *float64 `json:"peak" doc:"Peak of the day, averaged over some seconds"`
	Headroom     *float64 `json:"headroom" doc:"Unused percentage of the limit now; a lower bound if saturation has not been observed"`
	HeadroomPeak *float64 `json:"headroom_peak" doc:"Unused percentage of the limit at peak"`
}

func limitsOf(f *farm.Farm, k *headroom.Known) Room {
	if !headroom.Measurable(f) {
		return Room{Bend: "not measurable", UnderWay: k.Load}
	}
	out := Room{Bend: map[headroom.State]string{headroom.Unknown: "not known", headroom.Unbent: "not seen", headroom.Bent: "seen"}[k.State],
		UnderWay: round(k.Load), Peak: positive(k.Peak)}
	if k.State == headroom.Unknown {
		return out
	}
	out.Limit, out.BaseLatency, out.Rate = positive(k.Limit()), positive(k.Base.Seconds()), positive(k.Able())
	out.Headroom, out.HeadroomPeak = left(k, k.Load), left(k, k.Peak)
	return out
}

// round keeps about three significant digits, the precision of the estimates.
func round(v float64) float64 {
	if v <= 0 {
		return 0
	}
	unit := math.Pow(10, 2-math.Floor(math.Log10(v)))
	return math.Round(v*unit) / unit
}

// positive returns a rounded positive number, or nil.
func positive(v float64) *float64 {
	if v <= 0 {
		return nil
	}
	v = round(v)
	return &v
}

func left(k *headroom.Known, load float64) *float64 {
	percent, ok := k.Left(load)
	if !ok {
		return nil
	}
	percent = math.Round(percent)
	return &percent
}

// notMeasured explains why the latency is unknown.
const notMeasured = "not measurable: connections are relayed, and nothing says how long a request takes"

// notCounted explains why the number of connections is unknown.
const notCounted = "not known: netd does not answer, and it is what knows connections in the kernel"

// items returns the backends of a group, without those that stand for several.
func (m *moment) items(aliases *farm.Aliases, g farm.Group) (out []BackendHeadroom) {
	list := g.Backends()
	var of []headroom.Known
	var at []*farm.Backend
	for i, number := range g.Numbers() {
		b := &list[i]
		if b.Spreads() {
			continue
		}
		k := m.known(g.Farm, b)
		text := notMeasured
		if headroom.Measurable(g.Farm) {
			text = k.Text()
		} else if !k.Counted {
			text = notCounted
		}
		out = append(out, BackendHeadroom{
			Farm: g.Farm.Name, Service: g.Name(), ID: number, IP: b.ShownAddress(), Port: rest.OrNull(b.Port), Alias: aliases.Called(b),
			Status: farmstate.InStatistics(farmstate.In(g, i, m.deps.Health)), Room: limitsOf(g.Farm, &k), Text: text,
		})
		of, at = append(of, k), append(at, b)
	}
	advise(g, out, of, at)
	return out
}

// advise fills in the recommended changes.
func advise(g farm.Group, out []BackendHeadroom, of []headroom.Known, at []*farm.Backend) {
	byLoad := balance.ParseOf(g.Choosing()).NeedsLoad()
	weights := headroom.Weights(of, byLoad)
	for i := range out {
		var say []string
		if limit := of[i].ConnLimit(); limit > 0 {
			out[i].ConnectionLimit = &limit
			if now := int(at[i].ConnLimit); now == 0 || now > 2*limit || now < int(of[i].Bend) {
				say = append(say, fmt.Sprintf("connection_limit=%d: beyond %s at once requests only wait, and %d more fill the gaps between them", limit, headroom.Amount(of[i].Bend), limit-int(of[i].Bend)))
			}
		}
		if len(out) > 1 && weights != nil {
			out[i].Weight = &weights[i]
			if at[i].EffectiveWeight() != weights[i] {
				say = append(say, fmt.Sprintf("weight=%d: it does %s requests a second of the %s its service can", weights[i], headroom.Amount(of[i].Able()), headroom.Amount(sum(of))))
			}
		}
		out[i].Advice = strings.Join(say, "; ")
	}
}

func sum(of []headroom.Known) (all float64) {
	for i := range of {
		all += of[i].Able()
	}
	return all
}
