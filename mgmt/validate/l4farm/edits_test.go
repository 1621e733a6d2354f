package l4farm_test

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/core/snapshot"
	"github.com/sluicelb/sluice/mgmt/validate/l4farm"
	"github.com/sluicelb/sluice/mgmt/validate/validatetest"
	"pgregory.net/rapid"
)

// l4Bodies generates bodies of PUT /farms/F, valid and invalid ones.
func l4Bodies() *rapid.Generator[map[string]any] {
	words := func(lists ...any) []any {
		var out []any
		for _, list := range lists {
			v := reflect.ValueOf(list)
			for i := range v.Len() {
				out = append(out, fmt.Sprint(v.Index(i)))
			}
		}
		return out
	}
	fields := map[string][]any{
		"vport":    {80, "80", "443,80", "*", "1:65535", "5060,5061", "8000:8010", "x"},
		"vip":      {"10.0.0.5", "2001:db8::5", "0.0.0.0"},
		"protocol": words(farm.L4Protocols()), "nattype": words(farm.NATTypes()), "algorithm": words(farm.L4Algorithms()),
		"persistence": append(words(farm.L4Persistences()), "none", "ip", "", nil), "ttl": {0, 1, 60, "90"},
		"datapath": append(words(farm.DataPaths()), nil), "logs": {"true", false}, "log_limit": {nil, 0, 5}, "log_prefix": {"", "x y", "\""},
		"contimeout": {nil, 0, 3}, "idle_timeout": {nil, 0, 3}, "resurrectime": {nil, 9}, "grace": {nil, 0, 9}, "responses": {nil, 0, 1}, "quic": {"true", "false"},
		"maxconnections": {nil, 0, 9}, "source": {nil, "10.0.0.5", "::1"}, "mark": {nil, 5}, "trusted": {nil, []any{"10.0.0.0/8"}},
		"proxyprotocol_in": append(words(farm.ProxyIns()), nil), "proxyprotocol_out": append(words(farm.ProxyOuts()), nil),
	}
	names := l4farm.Update.Names()
	return rapid.Custom(func(t *rapid.T) map[string]any {
		out := map[string]any{}
		for range rapid.IntRange(1, 3).Draw(t, "fields") {
			name := rapid.SampledFrom(names).Draw(t, "name")
			if list := fields[name]; list != nil {
				out[name] = rapid.SampledFrom(list).Draw(t, "value")
			}
		}
		return out
	})
}

// For any sequence of bodies, an accepted farm can run on its reported carrier, and sending
// its values back changes nothing.
func TestEveryEditThatIsTakenLeavesAFarmThatCanBeCarried(t *testing.T) {
	taken, refused := 0, 0
	paths := map[farm.DataPath]int{}
	rapid.Check(t, func(t *rapid.T) {
		cfg := validatetest.GoodL4()
		cfg.Farms[0].ID, cfg.Farms[0].L4.ID = 1, 1
		list := cfg.Farms[0].L4.Backends[:1]
		list[0].ID, list[0].Port = 1, rapid.SampledFrom([]uint16{0, 81}).Draw(t, "port")
		cfg.Farms[0].L4.Backends = list
		for range 40 {
			next := cfg.Clone()
			f := &next.Farms[0]
			values, err := l4farm.Update.Decode("", l4Bodies().Draw(t, "body"))
			if err == nil {
				err = values.Apply(f)
			}
			if err == nil {
				err = validatetest.Rules.Config(next)
			}
			if err != nil {
				refused++
				continue
			}
			taken++
			cfg = next
			path, why := f.Carrier()
			paths[path]++
			if why == "" || path == farm.DataPathUserspace && f.L4.NotUserspace() != "" || path == farm.DataPathKernel && f.NotKernel() != "" ||
				f.L4.DataPath != "" && f.L4.DataPath != farm.DataPathAuto && f.L4.DataPath != path {
				t.Fatalf("%+v is carried by %s: %s", f.L4, path, why)
			}
			if err := snapshot.Check(next); err != nil {
				t.Fatalf("the engine rejects it: %v", err)
			}
			whole := map[string]any{}
			for name, v := range l4farm.Update.Given(f) {
				whole[name] = v.Any()
			}
			again, err := l4farm.Update.Decode("", whole)
			back := f.Clone()
			if err == nil {
				err = again.Apply(&back)
			}
			if err != nil || !reflect.DeepEqual(&back, f) {
				t.Fatalf("after a round trip of %v: %v\n%+v\n%+v", whole, err, back.L4, f.L4)
			}
		}
	})
	t.Logf("%d taken, %d refused, carried by %v", taken, refused, paths)
	if min(taken, refused, paths[farm.DataPathKernel], paths[farm.DataPathUserspace]) < 100 {
		t.Error("too few of a kind were tried")
	}
}

// Fields that become idle return after the opposite change. Impossible values are rejected,
// alone or in combination.
func TestAFarmKeepsWhatIsIdleMeanwhile(t *testing.T) {
	f := &validatetest.GoodL4().Farms[0]
	for _, text := range []string{`{"contimeout":7,"idle_timeout":8,"grace":9,"maxconnections":10,"logs":"true","log_sample":11,"trusted":"10.0.0.0/8","proxyprotocol_in":"required"}`,
		`{"proxyprotocol_in":"off"}`, `{"logs":"false","protocol":"udp","nattype":"dsr"}`, `{"nattype":"nat","protocol":"tcp","quic":"false","responses":null,"source":""}`} {
		if err := validatetest.Apply(t, &l4farm.Update, text, f); err != nil {
			t.Fatalf("%s: %v", text, err)
		}
	}
	if l := f.L4; l.ConnectTimeout != 7 || l.IdleTimeout != 8 || l.StopGrace != 9 || l.MaxConnections != 10 ||
		l.AccessLog.Sample != 11 || len(l.Trusted) != 1 {
		t.Errorf("%+v", l)
	}
	for text, want := range map[string]string{
		`{"quic":true}`:   "quic is allowed only with protocol udp or tcp_udp; send protocol udp or tcp_udp with it",
		`{"responses":0}`: "responses is allowed only with protocol udp or tcp_udp",
		`{"protocol":"udp","proxyprotocol_out":"v1"}`:    "proxyprotocol_out is allowed only with protocol tcp; send protocol tcp with it",
		`{"nattype":"dnat","source":"10.0.0.5"}`:         "source is allowed only with nattype nat; send nattype nat with it",
		`{"trusted":null,"proxyprotocol_in":"required"}`: "proxyprotocol_in is allowed only with trusted",
	} {
		farm := f.Clone()
		if err := validatetest.Apply(t, &l4farm.Update, text, &farm); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
	}
}

// The two transports of DNS may be sent as a list.
func TestTCPAndUDPMayBeAListOfTwo(t *testing.T) {
	for _, raw := range []any{"tcp_udp", "tcp,udp", "udp, tcp", []any{"tcp", "udp"}, []any{"udp", "tcp"}, []any{"tcp_udp"}} {
		var f farm.Farm
		v, err := l4farm.Create.Decode("", map[string]any{"farmname": "dns", "profile": "l4xnat", "vip": "192.0.2.1", "vport": "53", "protocol": raw})
		if err == nil {
			err = v.Apply(&f)
		}
		if err != nil || f.L4.Protocol != farm.L4TCPUDP {
			t.Errorf("%v: %v, %+v", raw, err, f.L4)
		}
	}
	for _, raw := range []any{[]any{"tcp", "sctp"}, []any{"tcp", 7.5}, []any{}, "", "tcp,", map[string]any{}} {
		if _, err := l4farm.Update.Decode("", map[string]any{"protocol": raw}); err == nil || !strings.Contains(err.Error(), "protocol must be one of tcp, udp, tcp_udp") {
			t.Errorf("%v: %v", raw, err)
		}
	}
	var f farm.Farm
	v, err := l4farm.Create.Decode("", map[string]any{"farmname": "web", "profile": "l4xnat", "vip": "192.0.2.1", "vport": "53", "protocol": []any{"tcp"}})
	if err == nil {
		err = v.Apply(&f)
	}
	if err != nil || f.L4.Protocol != farm.L4TCP {
		t.Errorf("a list of one: %v, %+v", err, f.L4)
	}
}
