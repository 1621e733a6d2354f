package validate_test

import (
	"net/netip"
	"strings"
	"testing"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/mgmt/validate"
)

// sharing is a farm on a VIP of its own; words are "dnat tcp 80 10.0.0.7:8080",
// port 0 for a backend without one.
func sharing(name, vip, words string) farm.Farm {
	part := strings.Fields(words)
	f := listening(name, part[1]+" "+vip+" "+part[2])
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
		{"stateless_dnat tcp 80 10.0.0.7:8080", "stateless_dnat tcp 81 10.0.0.7:8080", true},
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
		cfg.Farms[0].Stopped = true
		for _, e := range (validate.Rules{}).All(cfg) {
			if strings.Contains(e.Error(), "answers of the backend") {
				t.Errorf("beside a farm that is stopped: %v", e)
			}
		}
	}
}
