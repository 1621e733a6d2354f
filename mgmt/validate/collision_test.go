package validate_test

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/mgmt/validate"
	"github.com/sluicelb/sluice/mgmt/validate/field"
	"github.com/sluicelb/sluice/mgmt/validate/profile"
	"github.com/sluicelb/sluice/mgmt/validate/validatetest"
	"pgregory.net/rapid"
)

func TestRunningFarmsMustNotTakeTheSame(t *testing.T) {
	for _, c := range []struct {
		a, b     string
		collides bool
	}{
		{"http 10.0.0.5 80", "http 10.0.0.5 80", true},
		{"http 10.0.0.5 80", "tcp 10.0.0.5 70:90", true},
		{"http 10.0.0.5 80", "udp 10.0.0.5 80", false},
		{"http 10.0.0.5 80", "sctp 10.0.0.5 80", false},
		{"http 10.0.0.5 80", "all 10.0.0.5 *", true},
		{"http 0.0.0.0 80", "tcp 10.0.0.5 79:81", true},
		{"http 0.0.0.0 80", "tcp 2001:db8::5 80", false},
		{"tcp :: 80", "tcp 2001:db8::5 80", true},
		{"tcp 0.0.0.0 80", "tcp 0.0.0.0 1,80", true},
		{"tcp 0.0.0.0 80", "tcp 0.0.0.0 1,81", false},
		{"tcp 10.0.0.5 80", "tcp 10.0.0.6 80", false},
		{"tcp 10.0.0.5 80,90", "tcp 10.0.0.5 81:89,91", false},
		{"tcp 10.0.0.5 1:1000", "tcp 10.0.0.5 500", true},
		{"sip 10.0.0.5 5060", "udp 10.0.0.5 5060", true},
		{"sip 10.0.0.5 5060", "tcp 10.0.0.5 5060", true},
		{"ftp 10.0.0.5 21", "udp 10.0.0.5 21", false},
		{"tftp 10.0.0.5 69", "udp 10.0.0.5 69", true},
		{"sctp 10.0.0.5 80", "sctp 10.0.0.5 80", true},
		{"all 10.0.0.5 *", "sctp 10.0.0.5 80", true},
		{"all 10.0.0.5 *", "all 10.0.0.6 *", false},
		{"all 10.0.0.5 *", "udp 0.0.0.0 53", true},
	} {
		for _, pair := range [][2]string{{c.a, c.b}, {c.b, c.a}} {
			cfg := &farm.Config{Farms: []farm.Farm{validatetest.Listening("a", pair[0]), validatetest.Listening("b", pair[1])}}
			err := validate.Config(cfg)
			if c.collides != (err != nil) || err != nil && !strings.Contains(err.Error(), `farm "b": vip and vport must not be used by another running farm: `) {
				t.Errorf("%q and %q: %v", pair[0], pair[1], err)
			}
			for i := range cfg.Farms {
				cfg.Farms[i].Stopped = true
				if err := validate.Config(cfg); err != nil {
					t.Errorf("%q and %q, %d stopped: %v", pair[0], pair[1], i, err)
				}
				cfg.Farms[i].Stopped = false
			}
		}
	}
	err := validate.Config(&farm.Config{Farms: []farm.Farm{validatetest.Listening("a", "http 10.0.0.5 80"), validatetest.Listening("b", "all 10.0.0.5 *")}})
	if want := `farm "b": vip and vport must not be used by another running farm: 10.0.0.5 protocol all port * collides with farm "a" on 10.0.0.5:80`; err == nil || err.Error() != want {
		t.Errorf("got  %v\nwant %s", err, want)
	}
}

// collide is a literal implementation of the rule.
func collide(a, b *farm.Farm) bool {
	shape := func(f *farm.Farm) ([]farm.L4Protocol, []farm.PortRange) {
		if f.L4 == nil {
			return []farm.L4Protocol{farm.L4TCP}, validatetest.Ports(f.VPort, f.VPort)
		}
		if len(f.L4.Ports) == 0 {
			return f.L4.Protocol.Transports(), validatetest.Ports(1, 65535)
		}
		return f.L4.Protocol.Transports(), f.L4.Ports
	}
	if a.Stopped || b.Stopped || a.VIP.Is4() != b.VIP.Is4() || a.VIP != b.VIP && !a.VIP.IsUnspecified() &&
		!b.VIP.IsUnspecified() {
		return false
	}
	ta, pa := shape(a)
	tb, pb := shape(b)
	if !slices.ContainsFunc(ta, func(p farm.L4Protocol) bool { return slices.Contains(tb, p) }) {
		return false
	}
	for _, p := range pa {
		for _, q := range pb {
			if p.First <= q.Last && q.First <= p.Last {
				return true
			}
		}
	}
	return false
}

func TestCollisionsAreThoseOfTheRule(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		cfg := &farm.Config{}
		for i := range rapid.IntRange(0, 6).Draw(t, "farms") {
			protocol := rapid.SampledFrom([]string{"http", "tcp", "udp", "tcp_udp", "sctp", "sip", "all"}).Draw(t, "protocol")
			vip := rapid.SampledFrom([]string{"10.0.0.5", "10.0.0.6", "0.0.0.0", "::", "2001:db8::5"}).Draw(t, "vip")
			var list []string
			for range rapid.IntRange(1, 3).Draw(t, "ports") {
				first := rapid.IntRange(1, 30).Draw(t, "first")
				last := first + rapid.SampledFrom([]int{0, 0, 0, 1, 5, 20}).Draw(t, "more")
				if next := append(list, fmt.Sprintf("%d:%d", first, last)); parses(next) {
					list = next
				}
			}
			text := strings.Join(list, ",")
			switch protocol {
			case "all":
				text, vip = "*", rapid.SampledFrom([]string{"10.0.0.5", "10.0.0.6", "2001:db8::5"}).Draw(t, "single vip")
			case "http":
				text, _, _ = strings.Cut(text, ":")
			case "sip":
				text = strings.Split(text, ":")[0]
			}
			f := validatetest.Listening(fmt.Sprintf("f%d", i), protocol+" "+vip+" "+text)
			f.Stopped = rapid.IntRange(0, 4).Draw(t, "stopped") == 0
			cfg.Farms = append(cfg.Farms, f)
		}
		want := false
		found := map[string]bool{}
		for _, e := range validate.All(cfg) {
			if e.Field != "vport" {
				t.Fatal(e.Error())
			}
			found[e.Path] = true
		}
		for i := range cfg.Farms {
			any := false
			for j := range i {
				any = any || collide(&cfg.Farms[i], &cfg.Farms[j])
			}
			want = want || any
			if found[profile.FarmPath(cfg.Farms[i].Name)] && !any {
				t.Fatalf("farm %d collides with none before it", i)
			}
		}
		if want != (len(found) > 0) {
			t.Fatalf("found %v, want some: %v", found, want)
		}
	})
}

func parses(list []string) bool {
	_, err := profile.ParsePorts(strings.Join(list, ","))
	return err == nil
}

// The maximum number of farms, with the maximum number of ranges.
func TestCollisionsOfAsManyFarmsAsThereCanBeAreFound(t *testing.T) {
	cfg := &farm.Config{}
	for i := range farm.MaxFarmID {
		f := validatetest.Listening(fmt.Sprintf("f%d", i), "tcp 10.0.0.5 1")
		if f.L4.Ports = nil; i%2 == 1 {
			f.VIP = netip.MustParseAddr("0.0.0.0")
		}
		for j := range uint16(16) {
			p := 1 + uint16(i)*16 + j
			f.L4.Ports = append(f.L4.Ports, farm.PortRange{First: p, Last: p})
		}
		cfg.Farms = append(cfg.Farms, f)
	}
	if err := validate.Config(cfg); err != nil {
		t.Fatal(err)
	}
	cfg.Farms[4000].L4.Ports[3] = cfg.Farms[7].L4.Ports[2]
	cfg.Farms[4000].L4.Ports = cfg.Farms[4000].L4.Ports[3:4]
	if err := validate.Config(cfg); err == nil || !strings.HasPrefix(err.Error(), `farm "f4000"`) || !strings.Contains(err.Error(), `collides with farm "f7"`) {
		t.Error(err)
	}
}

func TestNoFarmTakesTheAddressOfTheAPI(t *testing.T) {
	for _, c := range []struct {
		own, farm       string
		refused, warned bool
	}{
		{"10.0.0.5:444", "all 10.0.0.5 *", true, false},
		{"10.0.0.5:444", "tcp 10.0.0.5 440:450", true, false},
		{"10.0.0.5:444", "http 0.0.0.0 444", true, false},
		{"10.0.0.5:444", "all 10.0.0.6 *", false, false},
		{"10.0.0.5:444", "udp 10.0.0.5 444", false, false},
		{"10.0.0.5:444", "tcp 10.0.0.5 443", false, false},
		{"127.0.0.1:444", "http 0.0.0.0 444", true, false},
		{"[::]:444", "all 10.0.0.5 *", false, true},
		{"[::]:444", "tcp :: 444", true, false},
		{"[::]:444", "tcp 0.0.0.0 444", true, false},
		{"0.0.0.0:444", "all 2001:db8::5 *", false, false},
		{"0.0.0.0:444", "tcp 10.0.0.5 1:1000", false, true},
		{"[::ffff:10.0.0.5]:444", "all 10.0.0.5 *", true, false},
	} {
		r := validate.Rules{Own: []netip.AddrPort{netip.MustParseAddrPort(c.own)}}
		cfg := &farm.Config{Farms: []farm.Farm{validatetest.Listening("a", c.farm)}}
		err, warnings := r.Config(cfg), r.Warnings(cfg)
		if c.refused != (err != nil) || err != nil && !strings.Contains(err.Error(), `farm "a": vip and vport must not be what the appliance's API listens on (`+c.own+")") {
			t.Errorf("%q at %s: %v", c.farm, c.own, err)
		}
		warnings = slices.DeleteFunc(warnings, func(w field.Error) bool { return w.Field == "farmguardian" })
		if !c.refused && c.warned != (len(warnings) > 0) {
			t.Errorf("%q at %s: warnings %v", c.farm, c.own, warnings)
		}
		cfg.Farms[0].Stopped = true
		if err := r.Config(cfg); err != nil || slices.ContainsFunc(r.Warnings(cfg), func(w field.Error) bool { return w.Field == "vport" }) {
			t.Errorf("%q at %s, stopped: %v", c.farm, c.own, err)
		}
	}
}
