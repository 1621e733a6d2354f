package cli_test

import (
	"context"
	"encoding/json"
	"net/netip"
	"strings"
	"testing"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/core/stats"
	"github.com/sluicelb/sluice/mgmt/api/system"
	"github.com/sluicelb/sluice/mgmt/api/traffic"
	"github.com/sluicelb/sluice/mgmt/apply"
	"github.com/sluicelb/sluice/mgmt/validate/l4farm"
)

// connections is a kernel with one connection to each backend.
type connections struct{ all []uint32 }

func (c connections) Connections(_ context.Context, backends []uint32, limit int) (list []traffic.Tracked, total int, err error) {
	if backends == nil {
		backends = c.all
	}
	for _, id := range backends {
		list = append(list, traffic.Tracked{Backend: id, Protocol: "tcp", State: "established", Timeout: 90, BytesIn: 2048, BytesOut: 99,
			Client: netip.MustParseAddrPort("192.0.2.7:4022"), To: netip.MustParseAddrPort("192.0.2.10:25"), Server: netip.MustParseAddrPort("10.0.0.1:25")})
	}
	return list[:min(limit, len(list))], len(list), nil
}

func (connections) FlushConnections(_ context.Context, backends []uint32) (int, error) {
	return len(backends), nil
}

// kernel has one table until it is cleaned.
type kernel struct {
	gone bool
	err  error
}

func (k *kernel) Rules(context.Context, uint32) (string, error) {
	return "table inet sluice {\n\tchain dns {\n\t}\n}\n", k.err
}

func (k *kernel) Objects(context.Context) ([]system.KernelObject, error) {
	if k.gone {
		return nil, k.err
	}
	return []system.KernelObject{{Kind: "table", Name: "inet sluice", Detail: "rules of 1 farm"}, {Kind: "sysctl", Name: "net.ipv4.ip_forward", Detail: "1, was 0"}}, k.err
}

// layer4 creates a farm in userspace and one in the kernel.
func (a *appliance) layer4() {
	a.t.Helper()
	a.must("farm", "create", "mail", "--profile", "l4xnat", "vip=192.0.2.10", "vport=25,587", "persistence=ip")
	a.must("backend", "add", "mail", "10.0.0.1:25", "weight=3", "max_conns=100")
	a.must("backend", "add", "mail", "10.0.0.2", "alias=second")
	a.must("farm", "create", "dns", "--profile", "l4xnat", "vip=192.0.2.10", "vport=53", "protocol=udp", "datapath=kernel", "algorithm=hash_srcip")
	a.must("backend", "create", "dns", "ip=10.0.0.3", "port=53")
}

func TestL4FarmsForPeople(t *testing.T) {
	a := start(t)
	a.layer4()
	a.shop()
	a.must("session", "create", "mail", "192.0.2.7", "1")
	a.sessions.dynamic = []string{"192.0.2.8"}
	a.health[2] = farm.StatusDown
	f := a.farmID("dns")
	a.traffic = stats.Traffic{Farms: map[uint32]stats.Farm{f: {Connections: 5, Established: 2, BytesIn: 64, PacketsIn: 6}}, Backends: map[uint32]stats.Backend{3: {Connects: 5, BytesIn: 1 << 20, PacketsIn: 9}}}
	for _, command := range []string{
		"farm list", "farm show mail", "farm show dns", "backend list mail", "backend show mail 0", "backend show mail 1", "session list mail", "status", "stats", "stats mail", "stats dns",
		"farm explain mail", "farm explain dns", "farm explain shop", "conn list", "conn list mail --limit 1", "system kernel", "export",
	} {
		golden(t, "l4_"+strings.ReplaceAll(strings.ReplaceAll(command, " --", "_"), " ", "_"), a.must(strings.Fields(command)...))
	}
	all := a.must("farm", "show", "mail")
	for _, field := range l4farm.Answer.Answers() {
		if !field.Maybe && !strings.Contains(all, "\n"+field.Name+" ") {
			t.Errorf("farm show has no %s", field.Name)
		}
	}
}

// farmID returns the stable number of a farm, assigned in order of creation.
func (a *appliance) farmID(name string) uint32 {
	return map[string]uint32{"mail": 1, "dns": 2}[name]
}

func TestL4CommandsPrintJSON(t *testing.T) {
	a := start(t)
	a.layer4()
	for _, command := range []string{
		"farm list", "farm show dns", "farm explain dns", "backend list mail", "backend show mail 1", "backend add mail 10.0.0.9:25", "backend set mail 2 weight=2", "backend maintenance mail 2", "backend delete mail 2",
		"session list mail", "session create mail 192.0.2.7 0", "session delete mail 192.0.2.7", "session flush mail", "conn list", "conn flush dns", "stats", "stats dns", "status", "system kernel",
	} {
		if out := a.must(append(strings.Fields(command), "--json")...); !json.Valid([]byte(out)) {
			t.Errorf("%s --json:\n%s", command, out)
		}
	}
	var one struct {
		Params struct {
			MaxConns int `json:"max_conns"`
		}
	}
	if err := json.Unmarshal([]byte(a.must("backend", "show", "mail", "0", "--json")), &one); err != nil || one.Params.MaxConns != 100 {
		t.Errorf("%+v, %v", one, err)
	}
}

func TestL4CommandsDoWhatTheySay(t *testing.T) {
	a := start(t)
	a.layer4()
	for _, c := range []struct{ command, shows, want string }{
		{"farm set mail ttl=9 algorithm=leastconn --nattype dnat", "farm show mail", "carrier kernel"},
		{"farm set mail persistence=none responses=null", "farm show mail", "persistence -"},
		{"farm stop mail", "farm list", "mail down"},
		{"farm set mail newfarmname=post", "farm list", "post down"},
		{"farm start post", "farm list", "post problem"},
		{"farm create twin --profile l4xnat vip=192.0.2.10 vport=26 copy_from=post", "backend list twin", "second"},
		{"farm create third vip=192.0.2.10 vport=28 --copy-from post", "farm show third", "profile l4xnat"},
		{"farm create all --profile l4xnat vip=127.0.0.9 vport=*", "farm show all", "protocol all"},
		{"farm delete all", "farm list", "post"},
		{"farm create named --profile l4xnat vip=192.0.2.10 vport=27 nattype=dsr", "farm show named", "nattype dsr"},
		{"backend set post 0 max_conns=null weight=2", "backend show post 0", "max_conns -"},
		{"backend maintenance post 0 --mode cut", "backend list post", "maintenance"},
		{"backend maintenance post 0 --off", "backend list post", "up"},
		{"backend delete post 0", "backend list post", "10.0.0.2"},
		{"backend add dns 10.0.0.7", "backend list dns", "10.0.0.7"},
		{"backend add dns ip=10.0.0.8", "backend list dns", "10.0.0.8"},
		{"conn flush dns --backend 0", "conn list dns", "3 of 3"},
	} {
		if out := a.must(strings.Fields(c.command)...); strings.TrimSpace(out) == "" {
			t.Errorf("%s has no output", c.command)
		}
		if c.want == "3 of 3" {
			continue
		}
		if out := a.must(strings.Fields(c.shows)...); !strings.Contains(strings.Join(strings.Fields(out), " "), c.want) {
			t.Errorf("after %q, %q does not show %q:\n%s", c.command, c.shows, c.want, out)
		}
	}
}

func TestTheServiceMayBeLeftOutWhereThereIsOne(t *testing.T) {
	a := start(t)
	a.shop()
	a.layer4()
	a.must("backend", "add", "shop", "10.0.0.9:81")
	for _, command := range []string{"backend list shop", "backend show shop 2", "backend set shop 2 weight=2", "backend maintenance shop 2", "session list shop", "session flush shop", "backend delete shop 2"} {
		a.must(strings.Fields(command)...)
	}
	a.must("farm", "create", "bare", "vip=192.0.2.10", "vport=81")
	if r := a.run("backend", "add", "bare", "10.0.0.1:80"); r.code != 2 || !strings.Contains(r.stderr, "service create bare") {
		t.Errorf("%+v", r)
	}
	a.must("service", "create", "shop", "api")
	for _, command := range []string{"backend list shop", "backend add shop 10.0.0.9:81", "backend add shop ip=10.0.0.9 port=81", "backend delete shop 0", "session flush shop"} {
		if r := a.run(strings.Fields(command)...); r.code != 2 || !strings.Contains(r.stderr, "web, api") {
			t.Errorf("%s: %+v", command, r)
		}
	}
	a.must("backend", "add", "shop", "api", "10.0.0.9:81")
	a.must("backend", "add", "shop", "api", "ip=10.0.0.10", "port=81")
	for _, command := range []string{"backend list mail web", "backend add mail web 10.0.0.1:1", "backend add mail web 10.0.0.1", "backend show mail web 0", "session list mail web"} {
		if r := a.run(strings.Fields(command)...); r.code != 1 || !strings.Contains(r.stderr, "mail has profile l4xnat and therefore no services") {
			t.Errorf("%s: %+v", command, r)
		}
	}
	if r := a.run("service", "list", "mail"); r.code != 1 || !strings.Contains(r.stderr, "backend list mail") {
		t.Errorf("%+v", r)
	}
	if r := a.run("farm", "create", "copy", "vip=192.0.2.10", "vport=88", "--copy-from", "none"); r.code != 1 || !strings.Contains(r.stderr, "the farm none does not exist") {
		t.Errorf("%+v", r)
	}
	if r := a.run("farm", "set", "shop", "nattype=dnat"); r.code != 1 || !strings.Contains(r.stderr, "l4xnat farms") {
		t.Errorf("%+v", r)
	}
	if r := a.run("conn", "list", "shop"); r.code != 1 || !strings.Contains(r.stderr, "sluice stats shop") {
		t.Errorf("%+v", r)
	}
}

func TestCommandsReportMissingNetd(t *testing.T) {
	a := start(t)
	a.layer4()
	a.kernel.err = apply.ErrUnavailable
	if r := a.run("system", "kernel"); r.code != 1 || !strings.Contains(r.stderr, "netd") {
		t.Errorf("%+v", r)
	}
	if r := a.run("farm", "explain", "dns"); r.code != 0 || !strings.Contains(r.stderr, "warning") || !strings.Contains(r.stdout, "kernel") {
		t.Errorf("%+v", r)
	}
}
