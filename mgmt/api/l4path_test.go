package api_test

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/core/stats"
	"github.com/sluicelb/sluice/mgmt/api/apitest"
	"github.com/sluicelb/sluice/mgmt/api/state"
	"github.com/sluicelb/sluice/mgmt/api/system"
	"github.com/sluicelb/sluice/mgmt/api/traffic"
	"github.com/sluicelb/sluice/mgmt/apply"
	"github.com/sluicelb/sluice/sysnet/conntrack"
)

// tracked returns one connection per requested backend.
type tracked struct {
	protocol string
	err      error
	all      []uint32
	flushed  []uint32
}

func (k *tracked) Connections(_ context.Context, backends []uint32, limit int) (list []traffic.Tracked, total int, err error) {
	if limit > conntrack.MaxListed {
		return nil, 0, fmt.Errorf("limit %d", limit) // as netd does
	}
	if backends == nil {
		backends = k.all
	}
	for i, id := range backends {
		list = append(list, traffic.Tracked{Backend: id, Protocol: k.protocol, State: "established", Timeout: 90, BytesIn: 7,
			Client: netip.AddrPortFrom(netip.MustParseAddr("192.0.2.7"), uint16(4000+i)), To: netip.MustParseAddrPort("192.0.2.10:53"), Server: netip.MustParseAddrPort("10.0.0.1:53")})
	}
	return list[:min(limit, len(list))], len(list), k.err
}

func (k *tracked) FlushConnections(_ context.Context, backends []uint32) (int, error) {
	if k.err != nil {
		return 0, k.err
	}
	if backends == nil {
		backends = k.all
	}
	k.flushed = append(k.flushed, backends...)
	return len(backends), nil
}

// kernel is a table of rules.
type kernel struct {
	err   error
	clean bool
}

func (k *kernel) Rules(context.Context, uint32) (string, error) {
	return "table inet sluice {\n}\n", k.err
}

func (k *kernel) Objects(context.Context) ([]system.KernelObject, error) {
	if k.clean {
		return nil, k.err
	}
	return []system.KernelObject{{Kind: "table", Name: "inet sluice"}}, k.err
}

// paths creates a farm for each data path, with two backends and one.
func (a *appliance) paths() {
	a.t.Helper()
	a.dns(2)
	a.must(201, "POST", "/farms", `{"farmname":"kern","profile":"l4xnat","vip":"127.0.0.9","vport":"*"}`)
	a.must(201, "POST", "/farms/kern/backends", `{"ip":"10.0.0.1"}`)
}

func TestConnectionsAreListedAndEndedByWhoCarriesThem(t *testing.T) {
	inKernel, inEngine := &tracked{protocol: "udp"}, &tracked{protocol: "tcp"}
	a := newAppliance(t, func(d *apitest.Parts) { d.Traffic.Tracked, d.Traffic.Forwarded = inKernel, inEngine })
	a.paths()
	a.shop(1)
	dns := a.config().Farm("dns").L4.Backends
	inKernel.all, inEngine.all = []uint32{a.config().Farm("kern").L4.Backends[0].ID, 999}, []uint32{dns[0].ID, dns[1].ID} // 999 no longer exists
	r := a.must(200, "GET", "/connections", "")
	r.want(t, "total_connections", 3)
	for path, value := range map[string]any{
		"params.0.farm": "kern", "params.0.protocol": "udp", "params.0.id": 0, "params.0.client": "192.0.2.7", "params.0.client_port": 4000, "params.0.vip": "192.0.2.10", "params.0.vport": 53,
		"params.0.backend_ip": "10.0.0.1", "params.0.backend_port": 53, "params.0.state": "established", "params.0.timeout": 90, "params.0.bytes_in": 7,
		"params.1.farm": "dns", "params.1.protocol": "tcp", "params.2.id": 1,
	} {
		r.want(t, path, value)
	}
	a.must(200, "GET", "/connections?farm=dns&limit=1", "").want(t, "total_connections", 2)
	a.must(200, "GET", "/connections?farm=dns&backend=1", "").want(t, "params.0.id", 1)
	a.must(200, "GET", "/connections?client_port=4001", "").want(t, "total_connections", 1)
	for query, texts := range map[string][]string{"farm=shop": {"shop", "of profile http", "sluice stats shop"}, "backend=1": {"farm"}, "limit=0": {"limit"}, "from=x": {"from"}} {
		a.do("GET", "/connections?"+query, "").refused(t, 400, texts...)
	}
	a.do("GET", "/connections?farm=none", "").refused(t, 404, "none")
	a.do("DELETE", "/connections?farm=dns&backend=2", "").refused(t, 404, "backend")
	a.must(200, "DELETE", "/connections?farm=dns&backend=1", "").want(t, "params.connections", 1)
	if want := []uint32{a.config().Farm("dns").L4.Backends[1].ID}; !slices.Equal(inEngine.flushed, want) || inKernel.flushed != nil {
		t.Errorf("ended: %v in the engine, %v in the kernel", inEngine.flushed, inKernel.flushed)
	}
	a.must(200, "DELETE", "/connections", "").want(t, "message", "4 connections of all l4xnat farms have been ended.")

	inEngine.err = apply.ErrUnavailable
	r = a.must(200, "GET", "/connections", "")
	r.want(t, "total_connections", 1)
	if text, _ := r.at("warning").(string); !strings.Contains(text, "engine does not answer") {
		t.Errorf("warning %q", text)
	}
	a.do("GET", "/connections?farm=dns", "").refused(t, 503, "engine")
	a.do("DELETE", "/connections?farm=dns", "").refused(t, 503, "engine")
	inKernel.err = context.DeadlineExceeded
	a.do("GET", "/connections", "").refused(t, 503, "engine", "netd")
	inKernel.err = errors.New("broken")
	a.do("GET", "/connections", "").refused(t, 500)
}

func TestWhatIsSetInTheKernelIsListedAndStays(t *testing.T) {
	k := &kernel{}
	a := newAppliance(t, func(d *apitest.Parts) { d.Kernel = k })
	a.must(200, "GET", "/system/kernel", "").want(t, "params.0.name", "inet sluice")
	a.paths()
	a.do("POST", "/system/kernel/clean", "").refused(t, 409, "the appliance runs", "stop it")
	k.err = fmt.Errorf("%w: operation not permitted", state.ErrKernel)
	a.must(200, "GET", "/farms/kern/explain", "").want(t, "warning", "the rules are not known: the kernel refused: operation not permitted")
	k.err = apply.ErrUnavailable
	a.do("GET", "/system/kernel", "").refused(t, 503, "netd")
}

func TestFarmsSayWhatCarriesThemAndWhy(t *testing.T) {
	k := &kernel{}
	a := newAppliance(t, func(d *apitest.Parts) {
		d.Kernel, d.State.Warnings = k, func(f *farm.Farm) []string {
			return map[string][]string{"kern": {"backend 10.0.0.1 is not used"}}[f.Name]
		}
	})
	a.paths()
	a.shop(1)
	a.must(200, "GET", "/farms/kern", "").want(t, "params.warnings.0", "backend 10.0.0.1 is not used")
	a.must(200, "GET", "/farms/dns", "").want(t, "params.warnings", nil)
	r := a.must(200, "GET", "/farms/kern/status", "")
	r.want(t, "params.status", "problem")
	r.want(t, "params.problem", "backend 10.0.0.1 is not used")
	r = a.must(200, "GET", "/farms/dns/explain", "")
	for path, value := range map[string]any{"params.carrier": "userspace", "params.datapath": "auto", "params.possible.0.datapath": "userspace", "params.possible.0.possible": "true",
		"params.possible.1.possible": "true", "params.rules": nil, "warning": nil} {
		r.want(t, path, value)
	}
	r = a.must(200, "GET", "/farms/kern/explain", "")
	for path, value := range map[string]any{"params.carrier": "kernel", "params.reason": "protocol all is carried by the kernel", "params.possible.0.possible": "false",
		"params.possible.0.reason": "protocol all is carried by the kernel", "params.possible.1.possible": "true", "params.rules": "table inet sluice {\n}\n", "params.warnings.0": "backend 10.0.0.1 is not used"} {
		r.want(t, path, value)
	}
	r = a.must(200, "GET", "/farms/shop/explain", "")
	r.want(t, "params.carrier", "userspace")
	r.want(t, "params.possible.1.possible", "false")
	k.err = apply.ErrUnavailable
	a.must(200, "GET", "/farms/kern/explain", "").want(t, "warning", "the rules are not known: netd does not answer")
	a.must(200, "PUT", "/farms/kern/actions", `{"action":"stop"}`)
	a.must(200, "GET", "/farms/kern/explain", "").want(t, "warning", "the farm is stopped: it has no rules")
	a.do("GET", "/farms/none/explain", "").refused(t, 404, "none")
}

func TestWhoKeepsSessionsIsNamedWhenItIsAway(t *testing.T) {
	a := newAppliance(t, func(d *apitest.Parts) { d.Traffic.SessionTable = &sessionTable{err: apply.ErrUnavailable} })
	a.paths()
	for name, owner := range map[string]string{"dns": "the engine", "kern": "netd"} {
		a.must(200, "PUT", "/farms/"+name, `{"persistence":"srcip"}`)
		for _, c := range [][2]string{{"GET", ""}, {"GET", "?session=192.0.2.7"}, {"DELETE", ""}, {"DELETE", "/192.0.2.7"}} {
			a.do(c[0], "/farms/"+name+"/sessions"+c[1], "").refused(t, 503, owner+" does not answer")
		}
	}
}

func TestFarmsAreCountedByModuleAndStatus(t *testing.T) {
	a := newAppliance(t)
	a.paths()
	a.shop(0)
	a.must(200, "PUT", "/farms/dns/backends/1/maintenance", `{"action":"maintenance"}`)
	a.must(200, "PUT", "/farms/kern/actions", `{"action":"stop"}`)
	a.must(200, "GET", "/stats/farms/total", "").want(t, "params.number", 3)
	r := a.must(200, "GET", "/stats/farms/modules", "")
	for path, n := range map[string]int{"lslb.total": 3, "lslb.up": 0, "lslb.down": 1, "lslb.critical": 1, "lslb.problem": 1, "gslb.total": 0, "dslb.total": 0} {
		r.want(t, "params."+path, n)
	}
	a.must(200, "GET", "/stats/farms/modules/lslb?status=down", "").want(t, "farms.0.farmname", "kern")
}

func TestConnectionsOfL4FarmsAreExplained(t *testing.T) {
	a := newAppliance(t)
	a.paths()
	r := a.must(200, "POST", "/farms/dns/explain", `{"from":"192.0.2.7:4022","to":"192.0.2.10:53","sni":"a.test"}`)
	r.want(t, "params.from", "192.0.2.7:4022")
	r.want(t, "params.sni", "a.test")
	a.must(200, "POST", "/farms/dns/explain", `{}`).want(t, "params.from", "")
	a.do("POST", "/farms/dns/explain", `{"url":"/"}`).refused(t, 400, "url", "http")
	a.do("POST", "/farms/dns/explain", `{"protocol":"sctp"}`).refused(t, 400, "protocol must be tcp or udp", "sctp")
	a.must(200, "POST", "/farms/dns/explain", `{"protocol":"udp"}`)
	a.do("POST", "/farms/dns/explain", `{"from":"me"}`).refused(t, 400, "from", "me")
	a.do("POST", "/farms/kern/explain", `{}`).refused(t, 400, "kernel", "sluice farm explain kern")
}

func TestCountersThatAreNotKnownAreNotTakenForZero(t *testing.T) {
	a := newAppliance(t, func(d *apitest.Parts) {
		d.KernelTraffic = func(context.Context) (stats.Traffic, error) { return stats.Traffic{}, apply.ErrUnavailable }
	})
	a.paths()
	for _, path := range []string{"/stats/farms", "/stats/farms/kern"} {
		a.must(200, "GET", path, "").want(t, "warning", "netd does not answer: counters of farms the kernel carries are not known")
	}
	a.must(200, "GET", "/stats/farms/dns", "").want(t, "warning", nil)
	a.must(200, "PUT", "/farms/kern/actions", `{"action":"stop"}`) // earlier counts are not known either
	a.must(200, "GET", "/stats/farms", "").want(t, "warning", "netd does not answer: counters of farms the kernel carries are not known")
	a.must(200, "DELETE", "/farms/kern", "")
	a.must(200, "GET", "/stats/farms", "").want(t, "warning", nil)
}
