package mgmt

import (
	"bytes"
	"context"
	"net/netip"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sluicelb/sluice/core/enginetest"
	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/core/health"
	"github.com/sluicelb/sluice/mgmt/acme"
	"github.com/sluicelb/sluice/mgmt/apply"
	"github.com/sluicelb/sluice/mgmt/event"
	"github.com/sluicelb/sluice/mgmt/geoip"
	"github.com/sluicelb/sluice/mgmt/geoip/geoiptest"
	"github.com/sluicelb/sluice/mgmt/keyroll"
	"github.com/sluicelb/sluice/mgmt/notify"
	"github.com/sluicelb/sluice/sysnet/ctl"
)

// choose changes the notification settings.
func (h *house) choose(t *testing.T, edit func(*notify.Settings)) {
	t.Helper()
	if err := h.notify.Change(apply.Author{}, "test", func(s *notify.Settings) error { edit(s); return nil }, func() error { return nil }); err != nil {
		t.Fatal(err)
	}
}

// heardOf waits until a script has received n events.
func heardOf(t *testing.T, heard func() string, n int) []string {
	t.Helper()
	enginetest.Eventually(t, "scripts hear", func() bool { return len(strings.Fields(heard())) >= n })
	return strings.Fields(heard())
}

func TestEventsGoTheWaysThatAreForThem(t *testing.T) {
	h := newHouse(t, nil)
	heard := h.hearing(t, "echo $1 >> heard")
	server, next := collector(t)
	h.system(t, func(s *farm.System) { s.Syslog.Servers = []farm.SyslogServer{server} })
	h.choose(t, func(s *notify.Settings) {
		s.Syslog.Severity, s.Scripts.Kinds = event.Warning, []event.Kind{event.FarmStart, event.LimitReached}
	})
	for _, e := range []event.Event{{Kind: event.FarmStop, Severity: event.Info}, {Kind: event.FarmStart, Severity: event.Info}, {Kind: event.EngineRestart, Severity: event.Warning}, {Kind: event.LimitReached, Severity: event.Warning}} {
		h.tell(e)
	}
	if got := next("event@"); !strings.Contains(got, `kind="engine-restart" severity="warning"`) {
		t.Errorf("the first message is %s", got)
	}
	next(`kind="limit-reached"`)
	if got := strings.Join(heardOf(t, heard, 2), " "); got != "farm-start limit-reached" {
		t.Errorf("scripts hear of %s", got)
	}
	h.choose(t, func(s *notify.Settings) { s.Syslog, s.Scripts = notify.Way{Off: true}, notify.Way{Off: true} })
	h.tell(event.Event{Kind: event.FarmStart})
	h.choose(t, func(s *notify.Settings) { s.Syslog, s.Scripts = notify.Way{}, notify.Way{} })
	h.tell(event.Event{Kind: event.ApplianceStop, Severity: event.Info})
	if got := next("event@"); !strings.Contains(got, `kind="appliance-stop"`) {
		t.Errorf("off is not off: %s", got)
	}
	if got := heardOf(t, heard, 3)[2]; got != "appliance-stop" {
		t.Errorf("off is not off: %s", got)
	}
}

func TestWithoutAServerEventsAreLoggedHere(t *testing.T) {
	h := newHouse(t, nil)
	f := carried()[0]
	h.tell(event.OfBackend(f.Groups()[0], 1, true, "refused three connects", time.Now()))
	h.tell(event.OfFarm(&f, farm.StatusCritical, farm.StatusUp, "no backend is usable", time.Now()))
	text := h.log.String()
	for _, want := range []string{
		`level=WARN msg="backend 1 (127.0.0.1:8082) of service web of farm shop is down: it refused three connects" event=backend-down farm=shop service=web backend=127.0.0.1`,
		`level=ERROR msg="farm shop is critical: no backend is usable" event=farm-status farm=shop`,
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no %s in\n%s", want, text)
		}
	}
}

func TestAFarmWithoutBackendsLeftIsToldOfOnce(t *testing.T) {
	h := newHouse(t, ctl.Parts{})
	h.give(t, carried()[1]) // a kernel farm, which needs no engine
	heard := h.hearing(t, `echo $1:$SLUICE_FARM:$SLUICE_STATUS:$SLUICE_SEVERITY >> heard`)
	look := func() { h.watch.lookHealth(h.manager, time.Now()) }
	h.published = make(chan struct{})
	look() // states are unknown until an engine runs the stored configuration
	close(h.published)
	look()
	cfg, _ := h.applier.Current()
	for _, b := range cfg.Farms[0].Groups()[0].Backends() {
		h.health.SetPassive(b.ID, health.Down, time.Now())
		for range 3 {
			look()
		}
	}
	want := "farm-status:dns:problem:warning backend-down:dns:down:warning farm-status:dns:critical:error backend-down:dns:down:warning"
	if got := strings.Join(heardOf(t, heard, 4), " "); got != want {
		t.Errorf("got   %s\nwant  %s", got, want)
	}
}

// Warnings come and go without a change of the configuration.
func TestAWarningOfAKernelFarmIsAnEvent(t *testing.T) {
	var warned atomic.Uint32
	state := func(context.Context, struct{}) (s ctl.KernelState, err error) {
		if id := warned.Load(); id != 0 {
			s.Warnings = map[uint32][]string{id: {"backend 10.0.0.1 is not used"}}
		}
		return s, nil
	}
	h := newHouse(t, ctl.Parts{ctl.OpKernelState: ctl.About(state)})
	h.give(t, carried()[1])
	heard := h.hearing(t, `echo $1:$SLUICE_FARM:$SLUICE_STATUS:$SLUICE_WAS >> heard`)
	cfg, _ := h.applier.Current()
	h.watch.look(t.Context(), h.manager)
	known, _ := h.moved(cfg)
	for i, id := range []uint32{cfg.Farms[0].ID, 0} {
		warned.Store(id)
		enginetest.Eventually(t, "the event is told", func() bool {
			h.watch.look(t.Context(), h.manager)
			return len(strings.Fields(heard())) > i
		})
		moved, ok := h.moved(cfg)
		if !ok || moved <= known {
			t.Errorf("the state of farms moved: %d, %v, before %d", moved, ok, known)
		}
		known = moved
	}
	if got := strings.Join(heardOf(t, heard, 2), " "); got != "farm-status:dns:problem:up farm-status:dns:up:problem" {
		t.Errorf("got %s", got)
	}
}

func TestLimitsAreToldOfAndKept(t *testing.T) {
	h := newHouse(t, nil)
	heard := h.hearing(t, `echo $1:$SLUICE_LIMIT:$SLUICE_FARM:$SLUICE_BACKEND_PORT:$SLUICE_USED:$SLUICE_MOST:$SLUICE_REFUSED >> heard`)
	h.choose(t, func(s *notify.Settings) { s.Scripts.Kinds = []event.Kind{event.LimitReached, event.LimitOver} })
	f := carried()[0]
	f.HTTP.MaxConnections, f.HTTP.Services[0].RateLimit, f.HTTP.Services[0].Backends[1].ConnLimit = 10, &farm.RateLimit{Requests: 5}, 3
	h.give(t, f, carried()[1])
	h.counters.NameClasses("bad-request", tooManyClients, rateLimited, shortage)
	cfg, _ := h.applier.Current()
	id, backend := cfg.Farms[0].ID, cfg.Farms[0].Groups()[0].Backends()[1].ID
	shard, now := h.counters.Shard(0), time.Now()
	look := func() { now = now.Add(watchLook); h.watch.limitEvents(cfg, h.manager, now) }
	shard.Rejections(id)[1] = 100 // before the start of mgmt
	look()
	shard.Farm(id).Established = 9
	look()
	shard.Rejections(id)[1], shard.Farm(id).Established = 104, 10
	look()
	look()
	shard.Rejections(id)[2]++
	look()
	shard.Backend(backend).Established = 3
	look()
	shard.Loop().AcceptErrors++
	shard.Rejections(id)[3]++
	look()
	want := "limit-reached:maxconnections:shop::10:10:4 limit-reached:ratelimit:shop::::1 limit-reached:connection_limit:shop:8082:3:3:0 limit-reached:descriptors:::::2"
	if got := strings.Join(heardOf(t, heard, 4), " "); got != want {
		t.Errorf("got   %s\nwant  %s", got, want)
	}
	shard.Farm(id).Established, shard.Backend(backend).Established = 0, 0
	now = now.Add(5 * time.Minute)
	look()
	if got := heardOf(t, heard, 7); got[4] != "limit-over:maxconnections:shop::0:10:4" {
		t.Errorf("got %q", got)
	}
	now = now.Add(time.Hour)
	look()
	if got := heardOf(t, heard, 8); got[7] != "limit-over:ratelimit:shop::::1" {
		t.Errorf("got %q", got)
	}
	kept := h.happened(t)
	for _, want := range []string{"limit shop  the limit of connections (maxconnections) of farm shop is reached: 10 of 10, 4 turned away or left waiting", "limit shop 127.0.0.1:8082 the limit of", "limit   the limit of descriptors of the engine is reached, 2 left waiting"} {
		if !strings.Contains(kept, want) {
			t.Errorf("no %q in\n%s", want, kept)
		}
	}
	if g := trackedGauge(89, 100); g.Full || !trackedGauge(90, 100).Full || trackedGauge(0, 0).Full {
		t.Errorf("%+v", g)
	}
}

func TestARenewalThatFailedIsToldOfAndKept(t *testing.T) {
	h := newHouse(t, nil)
	f := carried()[0]
	f.HTTP.TLS = &farm.TLS{Certificates: []string{"www.pem"}}
	h.give(t, f)
	heard := h.hearing(t, `echo $1:$SLUICE_CERTIFICATE:$SLUICE_SEVERITY >> heard`)
	h.notRenewed(acme.Failure{Name: "www.pem", NotAfter: time.Unix(0, 0), Reason: "the authority refused"})
	h.notRenewed(acme.Failure{Name: "www.pem", NotAfter: time.Unix(0, 0), Reason: "the authority refused", Soon: true})
	if got := strings.Join(heardOf(t, heard, 2), " "); got != "renewal-failed:www.pem:warning renewal-failed:www.pem:error" {
		t.Error(got)
	}
	if got := h.happened(t); !strings.Contains(got, "certificate shop  the certificate www.pem was not renewed: the authority refused") {
		t.Error(got)
	}
}

func TestAnotherGeoIPDatabaseIsToldOfAndKept(t *testing.T) {
	h := newHouse(t, nil)
	names := farm.Farm{Name: "names", Profile: farm.ProfileGSLB, VIP: netip.MustParseAddr("127.0.0.1"), VPort: 5300, Global: &farm.GSLB{Services: []farm.DNSService{{Name: "www", Algorithm: farm.DNSGeo,
		Backends: []farm.Backend{{Host: "192.0.2.1", Addr: netip.MustParseAddr("192.0.2.1"), Countries: []string{"DE"}}}}}}}
	h.give(t, append(carried(), names)...)
	var err error
	if h.geoip, err = geoip.Open(t.TempDir(), h.placesChanged); err != nil {
		t.Fatal(err)
	}
	heard := h.hearing(t, `echo "$1:$SLUICE_LIST:$SLUICE_VERSION:$SLUICE_SEVERITY" | tr ' ' _ >> heard`)
	database := geoiptest.Database(t, "Test-City", geoiptest.Place{Net: "203.0.113.0/24", Country: "DE"})
	if _, err := h.geoip.Upload("ann", bytes.NewReader(database), time.Now()); err != nil {
		t.Fatal(err)
	}
	heardOf(t, heard, 1)
	if err := h.geoip.Remove(); err != nil {
		t.Fatal(err)
	}
	const info = "Test-City of 2026-09-21"
	if got, want := strings.Join(heardOf(t, heard, 2), "|"), "list-updated:GeoIP_database:Test-City_of_2026-09-21:info|list-updated:GeoIP_database::info"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	kept := h.happened(t)
	for _, want := range []string{"list names  the GeoIP database is another one: " + info, "list names  the GeoIP database was deleted"} {
		if !strings.Contains(kept, want) {
			t.Errorf("no %q in\n%s", want, kept)
		}
	}
}

func TestKeysOfZonesThatAreReplacedAreToldOfAndKept(t *testing.T) {
	h := newHouse(t, nil)
	h.give(t, carried()[0])
	heard := h.hearing(t, `echo $1:$SLUICE_ZONE:$SLUICE_KEY:$SLUICE_SEVERITY >> heard`)
	h.keyReplaced(keyroll.Notice{Farm: "shop", Zone: "example.com", Key: 7, DS: "7 15 2 00"})
	h.keyReplaced(keyroll.Notice{Farm: "shop", Zone: "example.com", Key: 7, DS: "7 15 2 00", Signs: true})
	if got := strings.Join(heardOf(t, heard, 2), " "); got != "zone-key:example.com:7:warning zone-key:example.com:7:info" {
		t.Error(got)
	}
	if got := h.happened(t); !strings.Contains(got, "certificate shop  the key 7 of zone example.com of farm shop waits for its DS record in the parent zone, give it to the registrar: 7 15 2 00") || !strings.Contains(got, "of farm shop signs: remove the DS record of the one before") {
		t.Error(got)
	}
}
