package gslbfarm_test

import (
	"fmt"
	"math/rand/v2"
	"net/netip"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/mgmt/validate"
	"github.com/sluicelb/sluice/mgmt/validate/field"
	"github.com/sluicelb/sluice/mgmt/validate/gslbfarm"
)

// A change during the first check of a large zone does not check all of it, too.
func TestTheFirstCheckIsMadeOnce(t *testing.T) {
	z := farm.Zone{ID: 1, Name: "big.example"}
	for i := range 30_000 {
		z.Records = append(z.Records, farm.Record{ID: uint32(i + 1), Name: fmt.Sprint("h", i), Type: "A", Data: "192.0.2.1"})
	}
	z.Pack(nil)
	cfg := &farm.Config{Farms: []farm.Farm{{ID: 1, Name: "names", Profile: farm.ProfileGSLB, VIP: netip.MustParseAddr("192.0.2.53"), VPort: 53, Global: &farm.GSLB{Zones: []farm.Zone{z}}}}}
	next := cfg.Clone()
	next.Farms[0].Global.Zones[0].Append(farm.Record{ID: 30_001, Name: "new", Type: "A", Data: "192.0.2.1"})
	allocations := func(configs ...*farm.Config) uint64 {
		var checked validate.Checked
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		var wait sync.WaitGroup
		for _, cfg := range configs {
			wait.Go(func() {
				if _, err := checked.Config(cfg); err != nil {
					t.Error(err)
				}
			})
		}
		wait.Wait()
		runtime.ReadMemStats(&after)
		return after.Mallocs - before.Mallocs
	}
	if one, both := allocations(cfg), allocations(cfg, next); both > one*3/2 {
		t.Errorf("%d allocations for two checks at once, %d for one", both, one)
	}
}

// Records among many others break the rules that they break alone.
func TestRecordsAmongManyAreJudgedAsAlone(t *testing.T) {
	random := rand.New(rand.NewPCG(15, 16))
	f := farm.Farm{ID: 1, Name: "names", Profile: farm.ProfileGSLB, Global: &farm.GSLB{Services: []farm.DNSService{{ID: 1, Name: "web"}}}}
	broken := 0
	for range 100 {
		var few []farm.Record
		for range 2 + random.IntN(6) {
			r := farm.Record{ID: uint32(1 + len(few)), Name: []string{"a", "A", "b", "@"}[random.IntN(4)], Type: "A", Data: "192.0.2.1"}
			switch random.IntN(5) {
			case 0:
				r.Type, r.Data = "CNAME", "c"
			case 1:
				r.Type, r.Data = farm.RecordDYNA, "web"
			case 2:
				r.Type, r.Data = "TXT", `"`+strings.Repeat("x", 200)+`"`+strings.Repeat(` "`+strings.Repeat("x", 250)+`"`, 100)
			}
			few = append(few, r)
		}
		among := farm.Zone{Name: "example.com"}
		for i := range 3000 {
			among.Records = append(among.Records, farm.Record{ID: uint32(100 + i), Name: fmt.Sprint("h", i), Type: "A", Data: "192.0.2.1"})
		}
		for _, r := range few {
			at := random.IntN(len(among.Records) + 1)
			among.Records = slices.Insert(among.Records, at, r)
		}
		alone := farm.Zone{Name: "example.com"}
		for _, r := range among.Records {
			if r.ID < 100 {
				alone.Records = append(alone.Records, r)
			}
		}
		if random.IntN(2) == 0 {
			among.Pack(nil)
		}
		problems := func(z *farm.Zone) (out []string) {
			gslbfarm.CheckRecords(&f, z, func(i int, err field.Error) bool {
				out = append(out, fmt.Sprint(z.At(i).ID, err.Message))
				return true
			})
			return out
		}
		got, want := problems(&among), problems(&alone)
		if !slices.Equal(got, want) {
			t.Fatalf("problems among many: %q, alone: %q", got, want)
		}
		broken += len(want)
	}
	if broken < 50 {
		t.Errorf("%d rules are broken", broken)
	}
}

// Incremental checks give the same results as full ones, even for rules that involve
// unchanged records.
func TestZonesThatWereCheckedAreJudgedAsOthers(t *testing.T) {
	random := rand.New(rand.NewPCG(5, 8))
	z := farm.Zone{ID: 1, Name: "big.example"}
	for i := range 1500 {
		z.Records = append(z.Records, farm.Record{ID: uint32(i + 1), Name: fmt.Sprint("h", i), Type: "A", Data: "192.0.2.1"})
	}
	z.Records[7] = farm.Record{ID: 8, Name: "shop", Type: farm.RecordDYNA, Data: "web"}
	z.Records[8] = farm.Record{ID: 9, Name: "Alias", Type: "CNAME", Data: "h1"}
	z.Records[9] = farm.Record{ID: 10, Name: "moved", Type: "DNAME", Data: "h2"}
	f := farm.Farm{ID: 1, Name: "names", Profile: farm.ProfileGSLB, VIP: netip.MustParseAddr("192.0.2.53"), VPort: 53,
		Global: &farm.GSLB{Zones: []farm.Zone{z}, Services: []farm.DNSService{{ID: 1, Name: "web", Algorithm: farm.DNSRoundRobin}}}}
	cfg := &farm.Config{Farms: []farm.Farm{f}}
	var checked validate.Checked
	if _, err := checked.Config(cfg); err != nil {
		t.Fatal(err)
	}
	refused := 0
	for i := range 300 {
		next := cfg.Clone()
		g := next.Farms[0].Global
		z := &g.Zones[0]
		was := *z
		z.Unpack()
		at := random.IntN(len(z.Records))
		name := []string{"alias", "SHOP", "h3", "moved", "ALIAS", "new", "h1400", "@", "a b", "x.Moved", "y.h3"}[random.IntN(11)]
		added := func(kind farm.RecordType, data string) {
			z.LastRecord = max(z.LastRecord, 2000) + 1
			z.Records = append(z.Records, farm.Record{ID: z.LastRecord, Name: name, Type: kind, Data: data})
		}
		switch random.IntN(9) {
		case 0:
			added("A", "192.0.2.9")
		case 1:
			added("CNAME", "h5")
		case 2:
			added("NS", "ns.example.net.")
		case 3:
			added(farm.RecordDYNA, []string{"web", "none"}[random.IntN(2)])
		case 4:
			added("DNAME", "h6")
		case 5:
			z.Records[at].Data = []string{"192.0.2.7", "nonsense", ""}[random.IntN(3)]
		case 6:
			z.Records[at].Name = name
		case 7:
			z.Records = append(z.Records[:at:at], z.Records[at+1:]...)
		default:
			g.Services[0].Name = []string{"web", "other"}[random.IntN(2)]
		}
		if random.IntN(3) > 0 {
			z.Pack(&was)
		}
		_, got := checked.Config(next)
		want := validate.Rules{}.Config(next)
		if fmt.Sprint(got) != fmt.Sprint(want) {
			t.Fatalf("change %d: %v, and of the whole: %v", i, got, want)
		}
		if want != nil {
			refused++
		} else {
			cfg = next
		}
	}
	if refused < 30 || refused > 270 {
		t.Errorf("%d of 300 changes are refused", refused)
	}
}
