package changes

import (
	"fmt"
	"maps"
	"os"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/sluicelb/sluice/bench/measure"
	"github.com/sluicelb/sluice/bench/proxytest"
)

// rounds is the number of turns of each pace, slice their duration. SLUICE_CHANGES_ROUNDS
// reduces the rounds for a quick look.
const (
	rounds  = 9
	slice   = 4 * time.Second
	alone   = 200 // changes without traffic
	reading = 10 * time.Second
)

// paces are the rates of changes per second.
var paces = []int{0, 1, 10}

func turns() int {
	if few, err := strconv.Atoi(os.Getenv("SLUICE_CHANGES_ROUNDS")); err == nil {
		return few
	}
	return rounds
}

// turn is the result of a slice.
type turn struct {
	perRequest float64 // CPU time of the engine, in nanoseconds
	rate       float64 // requests per second
	times      []time.Duration
	mgmt, netd time.Duration // CPU time
}

// turn measures a slice during which changes are made at a pace.
func (a *appliance) turn(pace int, made *int) (r turn) {
	a.t.Helper()
	begun, requests, engine, mgmt, netd := time.Now(), a.answered(), a.used("engine"), a.used("mgmt"), a.used("netd")
	end := begun.Add(slice)
	if pace > 0 {
		for due := begun; due.Before(end); due = due.Add(time.Second / time.Duration(pace)) {
			time.Sleep(time.Until(due))
			*made++
			r.times = append(r.times, a.change(*made))
		}
	}
	time.Sleep(time.Until(end))
	n, took := float64(a.answered()-requests), time.Since(begun)
	r.perRequest, r.rate = float64(a.used("engine")-engine)/n, n/took.Seconds()
	r.mgmt, r.netd = a.used("mgmt")-mgmt, a.used("netd")-netd
	return r
}

func TestCostOfAChange(t *testing.T) {
	proxytest.Wanted(t)
	a := start(t, web)
	made := 0
	a.withoutTraffic(&made)
	a.isSeen(t)
	if turns() == 0 {
		return
	}

	n := turns()
	all := map[int][]turn{}
	wait := a.traffic(runtime.NumCPU()-1, time.Duration(n*len(paces)+2)*(slice+200*time.Millisecond)+20*time.Second)
	a.turn(0, &made) // warm-up
	for i := range n {
		for _, j := range proxytest.Order(i, len(paces)) {
			all[paces[j]] = append(all[paces[j]], a.turn(paces[j], &made))
		}
	}
	for _, pace := range paces[1:] {
		compare(t, pace, all[0], all[pace])
	}
	wait()
}

// withoutTraffic makes changes one after another.
func (a *appliance) withoutTraffic(made *int) {
	a.t.Helper()
	idle := map[string]time.Duration{}
	for role := range a.roles {
		idle[role] = a.used(role)
	}
	var times []time.Duration
	end := a.profile()
	for range alone {
		*made++
		times = append(times, a.change(*made))
	}
	end()
	tell(a.t, "without traffic", times)
	for _, role := range slices.Sorted(maps.Keys(a.roles)) {
		a.t.Logf("processor time of a change: %s %.2f ms", role, float64(a.used(role)-idle[role])/alone/1e6)
	}
}

func TestCostOfAChangePerFarmKind(t *testing.T) {
	proxytest.Wanted(t)
	for _, k := range []kind{https, relay, packets, direct, stateless, names} {
		t.Run(k.name, func(t *testing.T) {
			made := 0
			start(t, k).withoutTraffic(&made)
		})
	}
}

// isSeen makes changes that are visible to clients, and checks each from a client.
func (a *appliance) isSeen(t *testing.T) {
	t.Helper()
	const other = farms - 1
	var times []time.Duration
	for i := range 50 {
		to := fmt.Sprintf("https://a%d.test", i)
		times = append(times, a.put(fmt.Sprintf("/farms/farm%04d/services/all", other), fmt.Sprintf(`{"redirect":%q}`, to)))
		if got := a.redirected(firstPort + other); got != to {
			t.Errorf("after the answer a client is sent to %s, want %s", got, to)
		}
	}
	tell(t, "of a redirect, which the next client got", times)
}

// tell logs the duration of changes.
func tell(t *testing.T, what string, times []time.Duration) {
	t.Helper()
	h := new(measure.Histogram)
	for _, d := range times {
		h.Record(int64(d))
	}
	verdict := "reached"
	if h.Max() >= 100*time.Millisecond {
		verdict = "missed"
	}
	t.Logf("%d changes %s: p50 %v p99 %v max %v; each below 100 ms: %s", len(times), what, short(h.Percentile(50)), short(h.Percentile(99)), short(h.Max()), verdict)
}

func short(d time.Duration) string { return fmt.Sprintf("%.1f ms", float64(d)/1e6) }

// compare logs the effect of changes at a pace on traffic, as ratios within rounds.
func compare(t *testing.T, pace int, without, with []turn) {
	t.Helper()
	var cost, rate []float64
	var times []time.Duration
	var mgmt, netd time.Duration
	for i := range with {
		cost = append(cost, with[i].perRequest/without[i].perRequest)
		rate = append(rate, with[i].rate/without[i].rate)
		times = append(times, with[i].times...)
		mgmt, netd = mgmt+with[i].mgmt-without[i].mgmt, netd+with[i].netd-without[i].netd
	}
	each := time.Duration(len(times))
	t.Logf("%d a second: processor time of the engine for a request %s of that without, requests a second %s; %.2f us, %.0f/s without",
		pace, ratio(cost), ratio(rate), proxytest.Median(column(without, func(r turn) float64 { return r.perRequest }))/1e3, proxytest.Median(column(without, func(r turn) float64 { return r.rate })))
	t.Logf("%d a second: a change took mgmt %v and netd %v of processor time", pace, short(mgmt/each), short(netd/each))
	tell(t, fmt.Sprintf("%d a second beside traffic", pace), times)
	verdict := "reached"
	if proxytest.Median(cost) > 1.01 || proxytest.Median(rate) < 0.99 {
		verdict = "missed"
	}
	t.Logf("%d a second: less than 1 %% of throughput: %s", pace, verdict)
}

func column(turns []turn, take func(turn) float64) (out []float64) {
	for _, r := range turns {
		out = append(out, take(r))
	}
	return out
}

func ratio(list []float64) string {
	return fmt.Sprintf("%.3f [%.3f-%.3f]", proxytest.Median(list), slices.Min(list), slices.Max(list))
}

var (
	perSecond = regexp.MustCompile(`Requests/sec:\s*([0-9.]+)`)
	worst     = regexp.MustCompile(`99%\s+([0-9.]+)(us|ms|s)\b`)
)

// read parses the rate and the 99th percentile from the output of wrk.
func read(out string) (rate float64, p99 time.Duration, err error) {
	m, w := perSecond.FindStringSubmatch(out), worst.FindStringSubmatch(out)
	if m == nil || w == nil {
		return 0, 0, fmt.Errorf("no rate in the output of wrk: %s", out)
	}
	if rate, err = strconv.ParseFloat(m[1], 64); err != nil {
		return 0, 0, err
	}
	p99, err = time.ParseDuration(w[1] + w[2])
	return rate, p99, err
}

// Traffic, its backend and the client of the API share the engine's CPU, so that mgmt has
// the other one to itself.
func TestListThroughput(t *testing.T) {
	proxytest.Wanted(t)
	a := start(t, web)
	a.Run("taskset", "-a", "-p", "-c", "0", strconv.Itoa(a.server.PID()))
	wait := a.traffic(0, 4*reading+5*time.Second)
	time.Sleep(time.Second)
	for _, clients := range []int{1, 8} {
		begun, requests, mgmt, engine := time.Now(), a.answered(), a.used("mgmt"), a.used("engine")
		out := a.wrk(0, reading, fmt.Sprintf("-c%d", clients), "-H", "ZAPI_KEY: "+a.key, base+"/farms")()
		took := time.Since(begun)
		rate, p99, err := read(out)
		if err != nil {
			t.Fatal(err)
		}
		cost := float64(a.used("mgmt")-mgmt) / (rate * reading.Seconds())
		t.Logf("the list of %d farms, %d connections: %.0f a second, p99 %v; %.0f us of mgmt each, which are %.0f a second on a core; beside %.0f requests a second through the farm, the engine at %.0f %% of its core",
			farms, clients, rate, short(p99), cost/1e3, 1e9/cost, float64(a.answered()-requests)/took.Seconds(), 100*float64(a.used("engine")-engine)/float64(took))
		verdict := "reached"
		if p99 >= 20*time.Millisecond || 1e9/cost < 2000 {
			verdict = "missed"
		}
		t.Logf("p99 below 20 ms and 2,000 a second on a core: %s", verdict)
	}
	wait()
}
