package roundtrips

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/sluicelb/sluice/bench/load"
	"github.com/sluicelb/sluice/bench/measure"
	"github.com/sluicelb/sluice/bench/proxytest"
)

// rounds is the number of turns of each way, slice their duration.
const (
	rounds = 11
	slice  = time.Second
)

// way is one path from the client to the server.
type way struct {
	name string
	*network
	cost []float64 // CPU time of the whole machine per round trip in µs, by round
	rate []float64
}

// turn runs the load and records its cost.
func (w *way) turn() {
	w.t.Helper()
	before, err := measure.Busy()
	if err != nil {
		w.t.Fatal(err)
	}
	if _, err := w.In.Write([]byte("\n")); err != nil {
		w.t.Fatal(err)
	}
	var r load.Result
	w.Read(&r)
	after, err := measure.Busy()
	switch {
	case err != nil:
		w.t.Fatal(err)
	case r.Errors > 0 || r.Requests == 0:
		w.t.Fatalf("%s: %d answers, %d errors %v", w.name, r.Requests, r.Errors, r.Causes)
	}
	w.cost = append(w.cost, float64((after-before).Nanoseconds())/1e3/float64(r.Requests))
	w.rate = append(w.rate, float64(r.Requests)/r.Elapsed.Seconds())
}

// each returns the sorted results of do for all rounds.
func each(do func(round int) float64) (list []float64) {
	for i := range rounds {
		list = append(list, do(i))
	}
	slices.Sort(list)
	return list
}

func TestDatagramRoundTrips(t *testing.T) {
	proxytest.Wanted(t)
	ways := []*way{{name: "routed"}, {name: "nginx"}, {name: "userspace"}, {name: "kernel"}}
	for _, w := range ways {
		w.network = newNetwork(t)
		at := front
		switch w.name {
		case "routed":
			at = serving
		case "nginx":
			w.nginx()
		default:
			w.sluice(w.name)
		}
		w.aim(at, slice)
	}
	for i := range rounds {
		for _, j := range proxytest.Order(i, len(ways)) {
			ways[j].turn()
		}
	}
	tell(t, ways, map[string]float64{"userspace": 0.4})
}

// tell logs the table. Ratios are of the cost above the routed way, by rounds.
func tell(t *testing.T, ways []*way, most map[string]float64) {
	t.Helper()
	routed, nginx := ways[0], ways[1]
	for _, w := range ways {
		t.Logf("%-10s %6.2f µs/round trip  %8.0f/s", w.name, proxytest.Median(w.cost), proxytest.Median(w.rate))
	}
	for _, w := range ways[2:] {
		r := each(func(i int) float64 { return (w.cost[i] - routed.cost[i]) / (nginx.cost[i] - routed.cost[i]) })
		verdict := "no target"
		if limit, ok := most[w.name]; ok {
			verdict = fmt.Sprintf("at most %.2f: reached", limit)
			if proxytest.Median(r) > limit {
				verdict = fmt.Sprintf("at most %.2f: missed", limit)
			}
		}
		t.Logf("%-10s ÷ nginx, above routed: %.2f [%.2f–%.2f]  (%s)", w.name, proxytest.Median(r), r[0], r[rounds-1], verdict)
	}
}
