package l4farm_test

import (
	"net/netip"
	"strings"
	"testing"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/mgmt/validate"
	"github.com/sluicelb/sluice/mgmt/validate/profile"
	"github.com/sluicelb/sluice/mgmt/validate/validatetest"
)

// sharing returns a farm on its own VIP. words is e.g. "dnat tcp 80 10.0.0.7:8080"; port 0
// means none.
func sharing(name, vip, words string) farm.Farm {
	part := strings.Fields(words)
	f := validatetest.Listening(name, part[1]+" "+vip+" "+part[2])
	to := netip.MustParseAddrPort(part[3])
	f.L4.NAT = farm.NATType(part[0])
	f.L4.Backends = []farm.Backend{{Host: to.Addr().String(), Addr: to.Addr(), Port: to.Port()}}
	return f
}

func TestFarmsWhoseAnswersLookTheSameDoNotShareABackend(t *testing.T) {
	for _, c := range []struct {
		a, b   string
		shares bool
	}{
		{"stateless_dnat tcp 80 10.0.0.7:8080", "dnat tcp 81 10.0.0.7:8080", true},
		{"dnat tcp 80 10.0.0.7:8080", "stateless_dnat tcp 81 10.0.0.7:8080", true},
		{"stateless_dnat tcp 80 10.0.0.7:8080", "stateless_dnat tcp 81 10.0.0.7:8080", false}, // a warning, see below
		{"stateless_dnat tcp 80 10.0.0.7:80", "dnat tcp 70:90 10.0.0.7:0", true},
		{"stateless_dnat tcp 80 10.0.0.7:0", "dnat all * 10.0.0.7:0", true},
		{"stateless_dnat udp 53 10.0.0.7:0", "dnat sip 53 10.0.0.7:0", true},
		{"stateless_dnat tcp 80 10.0.0.7:8080", "dnat tcp 80 10.0.0.8:8080", false},
		{"stateless_dnat tcp 80 10.0.0.7:8080", "dnat tcp 80 10.0.0.7:8081", false},
		{"stateless_dnat tcp 80 10.0.0.7:8080", "dnat udp 80 10.0.0.7:8080", false},
		{"stateless_dnat tcp 80 10.0.0.7:0", "stateless_dnat tcp 81 10.0.0.7:0", false},
		{"stateless_dnat tcp 80 10.0.0.7:8080", "nat tcp 81 10.0.0.7:8080", false},
		{"dnat tcp 80 10.0.0.7:8080", "dnat tcp 81 10.0.0.7:8080", false},
		{"stateless_dnat tcp 80 10.0.0.7:0", "dsr tcp 80 10.0.0.7:0", false},
	} {
		cfg := &farm.Config{Farms: []farm.Farm{sharing("first", "192.0.2.1", c.a), sharing("second", "192.0.2.2", c.b)}}
		refused := ""
		for _, e := range (validate.Rules{}).All(cfg) {
			if strings.Contains(e.Error(), "answers of the backend") {
				refused += e.Error()
			}
		}
		if (refused != "") != c.shares {
			t.Errorf("%s and %s: %q", c.a, c.b, refused)
		}
		if c.shares && !strings.HasPrefix(refused, `farm "second": nattype must not be `+strings.Fields(c.b)[0]+` while running farm "first"`) {
			t.Errorf("%s and %s: %s", c.a, c.b, refused)
		}
		if third := sharing("third", "192.0.2.3", c.b); c.shares { // also invalid, but not reported
			err := validate.Config(&farm.Config{Farms: append(cfg.Farms[:2:2], third)})
			if err == nil || !strings.HasPrefix(err.Error(), `farm "second": nattype`) {
				t.Errorf("%s and %s twice: %v", c.a, c.b, err)
			}
		}
		cfg.Farms[0].Stopped = true
		for _, e := range (validate.Rules{}).All(cfg) {
			if strings.Contains(e.Error(), "answers of the backend") {
				t.Errorf("beside a stopped farm: %v", e)
			}
		}
	}
}

func TestStatelessFarmsThatShareABackendAreWarnedOf(t *testing.T) {
	for _, c := range []struct {
		a, b  string
		warns bool
	}{
		{"stateless_dnat tcp 80 10.0.0.7:8080", "stateless_dnat tcp 81 10.0.0.7:8080", true},
		{"stateless_dnat tcp 80 10.0.0.7:0", "stateless_dnat tcp 80 10.0.0.7:0", true},
		{"stateless_dnat tcp 80 10.0.0.7:0", "stateless_dnat tcp 81 10.0.0.7:0", false},
		{"stateless_dnat tcp 80 10.0.0.7:8080", "dnat tcp 81 10.0.0.7:8080", false}, // rejected
		{"stateless_dnat tcp 80 10.0.0.7:8080", "nat tcp 81 10.0.0.7:8080", false},
	} {
		cfg := &farm.Config{Farms: []farm.Farm{sharing("first", "192.0.2.1", c.a), sharing("second", "192.0.2.2", c.b)}}
		for _, of := range [][2]string{{"first", "second"}, {"second", "first"}} {
			said, backends := 0, 0
			for _, w := range validate.Warnings(cfg) {
				if w.Path == profile.FarmPath(of[0]) && strings.HasPrefix(w.Message, `running farm "`+of[1]+`"`) {
					said++
				}
				if strings.HasPrefix(w.Message, `running farm`) && validate.Concerns(&w, profile.PathOfBackend(cfg.Farm(of[0]).Own(), 0)) {
					backends++
				}
			}
			if (said == 1) != c.warns || said > 1 || backends != said {
				t.Errorf("%s and %s: %d warnings of %s, %d of its backend", c.a, c.b, said, of[0], backends)
			}
		}
	}
}

// A warning about one farm does not hide a rejection because of another.
func TestAFarmThatIsWarnedOfIsRefusedBesideDNAT(t *testing.T) {
	first := sharing("first", "192.0.2.1", "stateless_dnat tcp 80 10.0.0.7:8080")
	second := sharing("second", "192.0.2.2", "dnat tcp 80 10.0.0.7:9090")
	third := sharing("third", "192.0.2.3", "stateless_dnat tcp 80 10.0.0.7:8080")
	third.L4.Backends = append(third.L4.Backends, sharing("", "192.0.2.3", "stateless_dnat tcp 80 10.0.0.7:9090").L4.Backends...)
	cfg := &farm.Config{Farms: []farm.Farm{first, second, third}}
	refused := false
	for _, e := range (validate.Rules{}).All(cfg) {
		refused = refused || strings.HasPrefix(e.Error(), `farm "third": nattype must not be stateless_dnat while running farm "second"`)
	}
	if !refused {
		t.Error("a backend is shared with a farm with dnat")
	}
}
