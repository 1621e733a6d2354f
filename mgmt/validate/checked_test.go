package validate_test

import (
	"fmt"
	"math/rand/v2"
	"net/netip"
	"reflect"
	"slices"
	"testing"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/mgmt/validate"
	"github.com/sluicelb/sluice/mgmt/validate/validatetest"
)

// randomEdit returns a randomly edited configuration that shares the unchanged farms of
// cfg. Many results violate a rule, of one farm or of several together.
func randomEdit(r *rand.Rand, cfg *farm.Config) *farm.Config {
	next := *cfg
	next.Farms = slices.Clone(cfg.Farms)
	if len(next.Farms) == 0 || r.IntN(6) == 0 && len(next.Farms) < 12 {
		next.Farms = append(next.Farms, randomFarm(r))
		return &next
	}
	i := r.IntN(len(next.Farms))
	if r.IntN(8) == 0 {
		next.Farms = slices.Delete(next.Farms, i, i+1)
		return &next
	}
	f := next.Farms[i].Clone()
	next.Farms[i] = f
	switch at := &next.Farms[i]; r.IntN(15) {
	case 0:
		at.Name = fmt.Sprintf("farm%d", r.IntN(14))
	case 1:
		at.VPort = uint16(80 + r.IntN(14))
	case 2:
		at.Stopped = !at.Stopped
	case 3:
		next.Farms[0], next.Farms[i] = next.Farms[i], next.Farms[0]
	case 4:
		next.System.API.Port = uint16(r.IntN(2) * (80 + r.IntN(14)))
	case 5:
		next.Farms[i] = randomFarm(r)
	case 6:
		*at.Groups()[0].CheckedByAt() = []string{"", "known", "other"}[r.IntN(3)]
	case 7:
		next.Checks = slices.Clone(cfg.Checks)
		if len(next.Checks) == 0 || r.IntN(2) == 0 {
			next.Checks = append(next.Checks, farm.Check{Name: []string{"known", "other"}[r.IntN(2)], Command: []string{"", "check_tcp"}[r.IntN(2)]})
		} else {
			next.Checks = next.Checks[1:]
		}
	case 8:
		next.Farms[i] = randomNames(r)
	case 9:
		if f.HTTP != nil {
			at.HTTP.Services[0].DNSFarm = []string{"", fmt.Sprintf("farm%d", r.IntN(14))}[r.IntN(2)]
		} else if f.L4 != nil {
			at.L4.NAT = []farm.NATType{farm.NATDirect, farm.NATStateless, farm.NATTarget, farm.NATMasquerade}[r.IntN(4)]
		} else {
			at.Global.Services[0].Algorithm = []farm.DNSAlgorithm{farm.DNSLoad, farm.DNSRoundRobin}[r.IntN(2)]
		}
	case 10:
		if f.L4 != nil {
			b := &at.L4.Backends[0]
			b.Addr = netip.AddrFrom4([4]byte{10, 0, 0, byte(7 + r.IntN(3))})
			b.Host, b.Port = b.Addr.String(), uint16(r.IntN(2)*90)
		} else if f.Global != nil {
			b := &at.Global.Services[0].Backends[0]
			b.Addr = netip.AddrFrom4([4]byte{10, 0, 0, byte(5 + r.IntN(2))})
			b.Host = b.Addr.String()
		}
	default:
		if f.Global != nil {
			at.Global.Zones[0].Serial++
			break
		}
		if f.HTTP == nil {
			at.L4.Backends[0].Priority = uint8(r.IntN(11))
			break
		}
		s := &f.HTTP.Services[0]
		f.HTTP.Logs, f.HTTP.AccessLog.File, f.HTTP.AccessLog.Size = true, "shared", uint32(r.IntN(2)*50)
		s.Backends = append(s.Backends, farm.Backend{Host: fmt.Sprintf("10.0.0.%d", r.IntN(256)), Port: uint16(r.IntN(3) * 80), Priority: uint8(r.IntN(10))})
		s.Persistence = farm.PersistCookie // has no effect without a name
	}
	return &next
}

// randomNames is a farm of the DNS whose service chooses by the load of backends.
func randomNames(r *rand.Rand) farm.Farm {
	b := farm.Backend{Host: "10.0.0.5", Addr: netip.MustParseAddr("10.0.0.5"), Alias: "b1"}
	return farm.Farm{Name: fmt.Sprintf("farm%d", r.IntN(14)), Profile: farm.ProfileGSLB, VIP: netip.MustParseAddr("10.0.0.5"), VPort: uint16(53 + r.IntN(2)),
		Global: &farm.GSLB{Services: []farm.DNSService{{Name: "s", Port: uint16(80 + r.IntN(14)), Algorithm: farm.DNSLoad, Backends: []farm.Backend{b}}}, Zones: []farm.Zone{{Name: "example.com", Serial: 1}}}}
}

func randomFarm(r *rand.Rand) farm.Farm {
	f := farm.Farm{Name: fmt.Sprintf("farm%d", r.IntN(14)), Profile: farm.ProfileHTTP, VIP: netip.MustParseAddr("10.0.0.5"), VPort: uint16(80 + r.IntN(14)), HTTP: farm.DefaultHTTP()}
	f.HTTP.Services = []farm.Service{{Name: "web", Backends: []farm.Backend{{Host: "10.0.0.7", Port: 80}}}}
	if r.IntN(3) == 0 {
		nat := []farm.NATType{farm.NATDirect, farm.NATStateless}[r.IntN(2)]
		f.Profile, f.HTTP, f.VPort = farm.ProfileL4, nil, 0
		f.L4 = &farm.L4{Protocol: farm.L4TCP, NAT: nat, Algorithm: farm.L4Weight,
			Ports:    []farm.PortRange{{First: uint16(80 + r.IntN(14)), Last: 95}},
			Backends: []farm.Backend{{Host: "10.0.0.7"}, {Host: "10.0.0.8"}}}
	}
	return f
}

// Incremental checks give the same results as checks of the whole configuration.
func TestFarmsThatStayAreJudgedAsBefore(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 11))
	local := []netip.Prefix{netip.MustParsePrefix("10.0.0.5/24")}
	all := validate.Rules{Prefixes: func() []netip.Prefix { return local }, Own: []netip.AddrPort{netip.MustParseAddrPort("0.0.0.0:93")}}
	checked := validate.Checked{Rules: all}
	cfg := &farm.Config{}
	good, bad, warned := 0, 0, 0
	for i := range 5000 {
		if i%50 == 49 { // the machine's addresses change, which invalidates all results
			local = []netip.Prefix{netip.MustParsePrefix([]string{"10.0.0.5/24", "10.0.0.5/25", "10.0.0.4/28"}[r.IntN(3)])}
		}
		next := randomEdit(r, cfg)
		warnings, err := checked.Config(next)
		whole := all.Config(next)
		if !reflect.DeepEqual(err, whole) {
			t.Fatalf("edit %d: %v, as a whole %v", i, err, whole)
		}
		if err != nil {
			bad++
			continue
		}
		good++
		if want := all.Warnings(next); !reflect.DeepEqual(warnings, want) {
			t.Fatalf("edit %d: warnings %v, as a whole %v", i, warnings, want)
		}
		warned += len(warnings)
		cfg = next
	}
	if good < 500 || bad < 500 || warned < 500 {
		t.Errorf("%d were good, %d bad, %d warnings: the edits do not try enough", good, bad, warned)
	}
}

// A valid farm is not checked again, so a modification in place goes unnoticed. A copy is a
// different farm.
func TestAFarmThatStaysIsNotLookedAtAgain(t *testing.T) {
	checked, cfg := validate.Checked{Rules: validatetest.Rules}, validatetest.Good()
	if _, err := checked.Config(cfg); err != nil {
		t.Fatal(err)
	}
	cfg.Farms[0].HTTP.ConnectTimeout = 0
	if _, err := checked.Config(cfg); err != nil {
		t.Errorf("it was looked at: %v", err)
	}
	if _, err := checked.Config(cfg.Clone()); err == nil {
		t.Error("a copy was not looked at")
	}
}
