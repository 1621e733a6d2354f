package recorder_test

import (
	"context"
	"fmt"
	"log/slog"
	"math"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/core/stats"
	"github.com/sluicelb/sluice/mgmt/recorder"
	"github.com/sluicelb/sluice/mgmt/timeseries"
	"github.com/sluicelb/sluice/sysnet/usage"
)

var noon = time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)

// counters holds the counters of the loops.
type counters struct {
	farms    map[uint32]stats.Farm
	backends map[uint32]stats.Backend
	times    map[uint32]stats.Times
}

func (c *counters) SumFarm(id uint32) stats.Farm       { return c.farms[id] }
func (c *counters) SumBackend(id uint32) stats.Backend { return c.backends[id] }
func (c *counters) SumFarmTimes(id uint32) stats.Times { return c.times[id] }

// house is a recorder with sources of the test.
type house struct {
	*recorder.Recorder
	*counters
	db      *timeseries.DB
	cfg     *farm.Config
	traffic stats.Traffic
	known   bool
	asked   int // for traffic
	usage   usage.Sample
	now     time.Time
}

func newHouse(t *testing.T, dir string, farms ...farm.Farm) *house {
	t.Helper()
	db, err := timeseries.Open(dir, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(db.Close)
	h := &house{db: db, cfg: &farm.Config{Farms: farms}, known: true, now: noon,
		counters: &counters{map[uint32]stats.Farm{}, map[uint32]stats.Backend{}, map[uint32]stats.Times{}}}
	h.Recorder = recorder.New(recorder.Options{
		DB: db, Counters: h.counters, Config: func() *farm.Config { return h.cfg },
		Traffic: func() (stats.Traffic, bool) { h.asked++; return h.traffic, h.known },
		Usage:   func(time.Time) usage.Sample { return h.usage },
	})
	return h
}

// round records a round, five seconds after the last.
func (h *house) round() {
	h.Record(h.now)
	h.now = h.now.Add(5 * time.Second)
}

// last returns the values of series from the last round, as text.
func (h *house) last(t *testing.T, object string, series ...string) string {
	t.Helper()
	at := h.now.Add(-5 * time.Second)
	p, err := h.db.Read(object, at, at, at, series...)
	if err != nil {
		return err.Error()
	}
	var out []string
	for _, v := range p.Values {
		out = append(out, strings.Replace(fmt.Sprintf("%.3g", v[0]), "NaN", "-", 1))
	}
	return strings.Join(out, " ")
}

func names(all []recorder.Series) (out []string) {
	for _, s := range all {
		out = append(out, s.Name)
	}
	return out
}

func httpFarm() farm.Farm {
	return farm.Farm{ID: 3, Name: "shop", HTTP: &farm.HTTP{Services: []farm.Service{{Name: "all", Backends: []farm.Backend{{ID: 7, Addr: netip.MustParseAddr("127.0.0.1")}}}}}, Profile: farm.ProfileHTTP}
}

func TestFarmsAndBackendsAreRecordedASecond(t *testing.T) {
	h := newHouse(t, t.TempDir(), httpFarm())
	var times stats.Times
	h.farms[3] = stats.Farm{Connections: 100, Requests: 1000, BytesIn: 1, BytesOut: 2, Established: 9}
	h.backends[7] = stats.Backend{Requests: 1000}
	h.round()
	if got := h.last(t, recorder.Farm(3), "requests"); got != timeseries.ErrNone.Error() {
		t.Errorf("after one round: %s", got)
	}
	for range 99 {
		times.Total.Observe(int64(time.Millisecond))
	}
	times.Total.Observe(int64(time.Second))
	h.times[3] = times
	h.farms[3] = stats.Farm{Connections: 110, Requests: 1500, BytesIn: 5001, BytesOut: 50002, Established: 12, Dropped: 5, Responses: [5]uint64{0, 400, 0, 90, 10}, NoBackend: 500}
	h.backends[7] = stats.Backend{Requests: 1250, Established: 4, Connects: 77, Responses: [5]uint64{4: 5}, ConnectFailures: 10, Resets: 15, BadResponses: 20, Timeouts: 25}
	h.round()
	f := httpFarm()
	if got, series := h.last(t, recorder.Farm(3), names(recorder.OfFarm(&f))...), fmt.Sprint(names(recorder.OfFarm(&f))); got != "2 12 100 1e+03 1e+04 3 0.000789 0.00105" || series != "[connections established requests bytes_in bytes_out errors p50 p99]" {
		t.Errorf("%s: %s", series, got)
	}
	if got := h.last(t, recorder.Farm(3), "backend 7 requests", "backend 7 errors", "backend 7 established"); got != "50 15 4" {
		t.Errorf("backend: got %s, want %s", got, "50 15 4")
	}
	if l, known := h.Latency(3); !known || l.P50 < 0.0007 || l.P50 > 0.0008 || l.P99 < 0.001 || l.P99 > 0.0011 {
		t.Errorf("latency: %+v %t", l, known)
	}
	h.round()
	if l, known := h.Latency(3); known {
		t.Errorf("latency of a round without traffic: %+v", l)
	}
	if got := h.last(t, recorder.Farm(3), "connections", "established", "p50", "p99", "backend 7 requests"); got != "0 12 - - 0" {
		t.Errorf("a round without traffic: got %s, want %s", got, "0 12 - - 0")
	}
	h.farms[3], h.times[3], h.backends[7] = stats.Farm{Requests: 5}, stats.Times{}, stats.Backend{}
	h.round()
	if got := h.last(t, recorder.Farm(3), "requests", "established", "p99", "backend 7 requests"); got != "- 0 - -" {
		t.Errorf("counters that restarted: got %s, want %s", got, "- 0 - -")
	}
	h.cfg = &farm.Config{Farms: []farm.Farm{httpFarm(), {ID: 4, Profile: farm.ProfileHTTP, HTTP: &farm.HTTP{}}}}
	h.cfg.Farms[1].HTTP.Services = []farm.Service{{Name: "all", Backends: []farm.Backend{{ID: 12}}}}
	h.farms[4], h.backends[12] = stats.Farm{Requests: 5000, Established: 2}, stats.Backend{Requests: 5000, Timeouts: 70}
	h.round()
	if got := h.last(t, recorder.Farm(4), "requests", "established", "backend 12 requests", "backend 12 errors"); got != "0 2 0 0" {
		t.Errorf("a farm that is new: got %s, want %s", got, "0 2 0 0")
	}
}

func TestKernelFarmsAreRecordedWhileKnown(t *testing.T) {
	f := farm.Farm{ID: 5, Profile: farm.ProfileL4, L4: &farm.L4{Protocol: farm.L4TCP, NAT: farm.NATTarget, DataPath: farm.DataPathKernel, Backends: []farm.Backend{{ID: 8}}}}
	if !f.InKernel() {
		t.Fatal("the farm is not carried by the kernel")
	}
	h := newHouse(t, t.TempDir(), f)
	h.farms[5], h.backends[8] = stats.Farm{Connections: 999}, stats.Backend{Connects: 999} // of no farm
	count := func(n uint64) {
		h.traffic = stats.Traffic{Farms: map[uint32]stats.Farm{5: {Connections: n, BytesIn: 10 * n, BytesOut: 100 * n, Established: n, Pending: 2}},
			Backends: map[uint32]stats.Backend{8: {Connects: n, Established: 1}}}
	}
	h.round()
	count(50)
	h.round()
	if got := h.last(t, recorder.Farm(5), names(recorder.OfFarm(&f))...); got != "10 50 2 100 1e+03 0" {
		t.Errorf("%v: got %s, want %s", names(recorder.OfFarm(&f)), got, "10 50 2 100 1e+03 0")
	}
	if got := h.last(t, recorder.Farm(5), "backend 8 requests", "backend 8 errors", "backend 8 established"); got != "10 0 1" {
		t.Errorf("backend: got %s, want %s", got, "10 0 1")
	}
	h.known = false
	count(60)
	h.round()
	if got := h.last(t, recorder.Farm(5), "connections", "established"); got != "- -" {
		t.Errorf("without netd: got %s, want %s", got, "- -")
	}
}

// A call to netd takes a while, and all farms of a round must be of the same moment.
func TestNetdIsQueriedOncePerRoundIfNeeded(t *testing.T) {
	l4 := func(id uint32) farm.Farm {
		return farm.Farm{ID: id, Profile: farm.ProfileL4, L4: &farm.L4{Protocol: farm.L4TCP, NAT: farm.NATTarget, DataPath: farm.DataPathKernel}}
	}
	for _, known := range []bool{true, false} {
		h := newHouse(t, t.TempDir(), l4(5), l4(12), httpFarm())
		h.known = known
		if h.round(); h.asked != 1 {
			t.Errorf("known %t: %d requests", known, h.asked)
		}
	}
	h := newHouse(t, t.TempDir(), httpFarm())
	if h.round(); h.asked != 0 {
		t.Errorf("the kernel carries no farm, yet %d requests", h.asked)
	}
}

func TestDurationsAreReadOutOfTheirBuckets(t *testing.T) {
	h := newHouse(t, t.TempDir(), httpFarm())
	h.round()
	half := stats.Bound(7) + (stats.Bound(8)-stats.Bound(7))*49/50
	last := stats.Bound(stats.Buckets - 1)
	for _, c := range []struct {
		name     string
		counts   map[int]uint64
		p50, p99 time.Duration
	}{
		{"all in the first", map[int]uint64{0: 100}, stats.Bound(0) / 2, stats.Bound(0) * 99 / 100},
		{"half here, half there", map[int]uint64{2: 50, 8: 50}, stats.Bound(2), half},
		{"longer than all buckets", map[int]uint64{stats.Buckets: 1}, last, last},
	} {
		times := h.times[3]
		for bucket, n := range c.counts {
			times.Total.Counts[bucket] += n
		}
		h.times[3] = times
		at := h.now
		h.round()
		p, err := h.db.Read(recorder.Farm(3), at, at, at, "p50", "p99")
		if err != nil {
			t.Fatal(err)
		}
		for i, want := range []float64{c.p50.Seconds(), c.p99.Seconds()} {
			if got := p.Values[i][0]; !(math.Abs(got-want) <= want/1000) { // the precision of stored values
				t.Errorf("%s: %g, want %g", c.name, got, want)
			}
		}
	}
}

func TestErrorsOfForwardedFarmsCountUnservedClients(t *testing.T) {
	f := farm.Farm{ID: 5, Profile: farm.ProfileL4, L4: &farm.L4{Protocol: farm.L4TCP, NAT: farm.NATMasquerade, DataPath: farm.DataPathUserspace, Ports: []farm.PortRange{{First: 80, Last: 80}}}}
	if f.InKernel() {
		t.Fatal("the farm is carried by the kernel")
	}
	h := newHouse(t, t.TempDir(), f)
	h.round()
	h.farms[5] = stats.Farm{NoBackend: 5, BackendErrors: 10, Dropped: 20}
	h.round()
	if got := h.last(t, recorder.Farm(5), "errors"); got != "7" {
		t.Errorf("errors: got %s, want %s", got, "7")
	}
}

func TestQueriesOfFarmsOfTheDNSAreTheirRequests(t *testing.T) {
	f := farm.Farm{ID: 5, Profile: farm.ProfileGSLB, Global: &farm.GSLB{Services: []farm.DNSService{{Name: "s", Backends: []farm.Backend{{ID: 8}}}}}}
	h := newHouse(t, t.TempDir(), f)
	h.round()
	h.farms[5] = stats.Farm{Queries: 50, ServFails: 10, NXDomains: 5}
	h.round()
	if got := h.last(t, recorder.Farm(5), "requests") + " " + h.last(t, recorder.Farm(5), "errors") + " " + h.last(t, recorder.Farm(5), recorder.OfBackend(8, "requests")); got != "10 2 0" {
		t.Errorf("requests, errors, requests of the backend: got %s, want %s", got, "10 2 0")
	}
}

func TestTheMachineIsRecorded(t *testing.T) {
	h := newHouse(t, t.TempDir())
	h.usage = usage.Sample{CPU: usage.CPU{User: 10, Idle: 100}, Interfaces: []usage.Interface{{Name: "eth0", In: 100, Out: 200}}, Connections: -1}
	h.round()
	if got := h.last(t, recorder.System, "load_1"); got != timeseries.ErrNone.Error() {
		t.Errorf("after one round: %s", got)
	}
	h.usage = usage.Sample{
		CPU:  usage.CPU{User: 12, Nice: 1, System: 2, IOWait: 1, IRQ: .25, SoftIRQ: .75, Idle: 103},
		Load: [3]float64{.5, 1, 2}, Memory: usage.Memory{Total: 1000, Free: 100, Buffers: 200, Cached: 300, SwapTotal: 50, SwapFree: 40},
		Interfaces:  []usage.Interface{{Name: "eth0", In: 600, Out: 1200}, {Name: "eth1", In: 1e9}},
		Disks:       []usage.Disk{{Mount: "/", Total: 4000, Used: 1000}, {Mount: "/var/log", Total: 16, Used: 8}},
		Connections: -1,
	}
	h.round()
	if got := h.last(t, recorder.System, names(recorder.OfSystem)...); got != "60 20 10 20 10 2.5 7.5 0.5 1 2 400 200 300 10 -" {
		t.Errorf("%v: got %s, want %s", names(recorder.OfSystem), got, "60 20 10 20 10 2.5 7.5 0.5 1 2 400 200 300 10 -")
	}
	if got := h.last(t, recorder.Interface("eth0"), "in", "out") + ", " + h.last(t, recorder.Interface("eth1"), "in"); got != "100 200, "+timeseries.ErrNone.Error() {
		t.Errorf("interfaces: %s", got)
	}
	if got := h.last(t, recorder.Disk("/"), "used", "total") + ", " + h.last(t, recorder.Disk("/var/log"), "used", "total"); got != "1e+03 4e+03, 8 16" {
		t.Errorf("disks: got %s, want %s", got, "1e+03 4e+03, 8 16")
	}
	h.usage.Connections = 42
	h.round()
	if got := h.last(t, recorder.System, "connections", "cpu"); got != "42 0" {
		t.Errorf("connections: got %s, want %s", got, "42 0")
	}
	h.usage.Connections = 0
	h.round()
	if got := h.last(t, recorder.System, "connections"); got != "0" {
		t.Errorf("no connections: got %s, want %s", got, "0")
	}
}

func TestARoundIsEveryFiveSecondsFromTheStartOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHouse(t, t.TempDir())
		var rounds []time.Duration
		begin := time.Now()
		r := recorder.New(recorder.Options{DB: h.db, Counters: h.counters, Config: func() *farm.Config { return h.cfg }, Usage: func(now time.Time) usage.Sample {
			rounds = append(rounds, now.Sub(begin))
			return usage.Sample{}
		}})
		ctx, end := context.WithTimeout(t.Context(), 11*time.Second)
		defer end()
		r.Run(ctx)
		if fmt.Sprint(rounds) != "[0s 5s 10s]" {
			t.Errorf("rounds: %v", rounds)
		}
	})
}

// Files of existing objects stay, even old ones; others are removed.
func TestFilesOfRemovedObjectsAreDeleted(t *testing.T) {
	dir := t.TempDir()
	h := newHouse(t, dir, httpFarm())
	h.usage = usage.Sample{Interfaces: []usage.Interface{{Name: "a/b"}}, Disks: []usage.Disk{{Mount: "/var"}}}
	objects := []string{recorder.Farm(3), recorder.Farm(4), recorder.System, recorder.Interface("a/b"), recorder.Interface("old"), recorder.Disk("/var"), recorder.Disk("/old")}
	for _, name := range objects {
		h.db.Write(name, noon, []timeseries.Value{{Series: "a", Value: 1}})
		old := time.Now().Add(-30 * 24 * time.Hour)
		if err := os.Chtimes(filepath.Join(dir, name+".numbers"), old, old); err != nil {
			t.Fatal(err)
		}
	}
	h.now = time.Now()
	h.round()
	var left []string
	for _, name := range objects {
		if _, err := os.Stat(filepath.Join(dir, name+".numbers")); err == nil {
			left = append(left, name)
		}
	}
	if got := strings.Join(left, " "); got != "farm-3 system interface-a%2Fb disk-%2Fvar" {
		t.Errorf("left: got %s, want %s", got, "farm-3 system interface-a%2Fb disk-%2Fvar")
	}
}

// The file of a removed farm is kept, but not open.
func TestRemovedFarmsUseNoDescriptor(t *testing.T) {
	dir := t.TempDir()
	h := newHouse(t, dir, httpFarm())
	open := func() (n int) {
		descriptors, err := os.ReadDir("/proc/self/fd")
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range descriptors {
			if of, _ := os.Readlink("/proc/self/fd/" + d.Name()); of == filepath.Join(dir, recorder.Farm(3)+".numbers") {
				n++
			}
		}
		return n
	}
	for range 3 {
		h.round()
	}
	if n := open(); n != 1 {
		t.Errorf("the file of an existing farm is open %d times", n)
	}
	h.cfg.Farms = nil
	h.round()
	if n := open(); n != 0 {
		t.Errorf("after the farm is gone, %d times", n)
	}
}

// Searching for files of removed objects is expensive, so it is done about once an hour.
func TestFilesAreSearchedOnceIn720Rounds(t *testing.T) {
	dir := t.TempDir()
	h := newHouse(t, dir)
	h.round()
	path := filepath.Join(dir, "farm-9.numbers")
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	h.now = time.Now().Add(30 * 24 * time.Hour)
	for round := 2; round <= 721; round++ {
		h.round()
		if _, err := os.Stat(path); (err == nil) != (round < 721) {
			t.Fatalf("round %d: %v", round, err)
		}
	}
}

// The file of a farm with ten backends is at most 1 MiB.
func TestTheFileOfAFarmIsSmall(t *testing.T) {
	f := httpFarm()
	f.HTTP.Services[0].Backends = nil
	for i := range uint32(10) {
		f.HTTP.Services[0].Backends = append(f.HTTP.Services[0].Backends, farm.Backend{ID: farm.MaxBackendID - i})
	}
	dir := t.TempDir()
	h := newHouse(t, dir, f)
	h.round()
	h.round()
	info, err := os.Stat(filepath.Join(dir, "farm-3.numbers"))
	if err != nil || info.Size() > 1<<20 {
		t.Errorf("%v, %v", info, err)
	}
	if farm, backend := recorder.Farm(4294967295), recorder.OfBackend(123456789, "errors"); farm != "farm-4294967295" || backend != "backend 123456789 errors" {
		t.Errorf("%s and %s", farm, backend)
	}
	if got := h.last(t, recorder.Farm(3), recorder.OfBackend(farm.MaxBackendID, "established")); got != "0" {
		t.Errorf("a backend with the longest number: got %s, want %s", got, "0")
	}
}

// If the clock goes back, a round has no rates.
func TestClockMovingBackYieldsNoRates(t *testing.T) {
	h := newHouse(t, t.TempDir(), httpFarm())
	h.round()
	for _, at := range []time.Time{noon, noon.Add(-time.Hour)} { // it stands still, and goes back
		h.now = at
		h.farms[3] = stats.Farm{Requests: 100}
		h.round()
		if got := h.last(t, recorder.Farm(3), "requests"); got != timeseries.ErrNone.Error() {
			t.Errorf("requests: %s", got)
		}
	}
	h.farms[3] = stats.Farm{Requests: 150}
	h.round()
	if got := h.last(t, recorder.Farm(3), "requests"); got != "10" {
		t.Errorf("the next: got %s, want %s", got, "10")
	}
	h.now = h.now.Add(-4500 * time.Millisecond) // half a second after the last
	h.farms[3] = stats.Farm{Requests: 250}
	h.round()
	if got := h.last(t, recorder.Farm(3), "requests"); got != "200" {
		t.Errorf("half a second later: got %s, want %s", got, "200")
	}
}
