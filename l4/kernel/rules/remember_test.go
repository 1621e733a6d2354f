package rules_test

import (
	"maps"
	"strconv"
	"testing"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/l4/kernel/l4test"
	"github.com/sluicelb/sluice/l4/kernel/rules"
	"github.com/sluicelb/sluice/sysnet/nft"
)

// Records of farms that are not carried now stay in the kernel: they are carried again later.
// These records need the table inet only.
func TestRecordsOfUncarriedFarmsStay(t *testing.T) {
	nat := l4test.Example(nil)
	taken := second(func(*farm.Farm) {})
	zoned := direct(func(f *farm.Farm) { f.ID = 9; f.L4.Ports[0] = farm.PortRange{First: 82, Last: 82} })
	for i := range zoned.L4.Backends {
		zoned.L4.Backends[i].ID += 20
	}
	stopped := l4test.Stopped(zoned)
	userspace := l4test.Example(func(f *farm.Farm) { f.L4.DataPath = farm.DataPathUserspace })
	ended := map[uint32]bool{nat.L4.Backends[0].ID: true, taken.L4.Backends[1].ID: true, zoned.L4.Backends[0].ID: true}
	for name, c := range map[string]struct {
		in           rules.Input
		flushed, cut map[uint32]bool
		problems     int
	}{
		"an address that is taken": {rules.Input{Farms: []farm.Farm{nat, taken}}, map[uint32]bool{nat.ID: true, taken.ID: true},
			map[uint32]bool{nat.L4.Backends[0].ID: true, taken.L4.Backends[1].ID: true}, 1},
		"an address that is gone": {rules.Input{Farms: []farm.Farm{zoned}, Wire: hops{}}, map[uint32]bool{zoned.ID: true}, map[uint32]bool{zoned.L4.Backends[0].ID: true}, 1},
		"no wire":                 {rules.Input{Farms: []farm.Farm{zoned}}, map[uint32]bool{zoned.ID: true}, map[uint32]bool{zoned.L4.Backends[0].ID: true}, 1},
		"a stopped farm":          {rules.Input{Farms: []farm.Farm{stopped}}, map[uint32]bool{zoned.ID: true}, map[uint32]bool{zoned.L4.Backends[0].ID: true}, 0},
		"refused farms":           {rules.Input{Recorded: []farm.Farm{zoned, taken}}, map[uint32]bool{zoned.ID: true, taken.ID: true}, map[uint32]bool{zoned.L4.Backends[0].ID: true, taken.L4.Backends[1].ID: true}, 0},
		"a farm in userspace":     {rules.Input{Recorded: []farm.Farm{userspace}}, map[uint32]bool{}, map[uint32]bool{}, 0},
	} {
		var k rules.Compiler
		before := c.in
		k.Compile(&before) // nothing was ended yet
		c.in.Flushed, c.in.Cut = map[uint32]bool{nat.ID: true, taken.ID: true, zoned.ID: true}, ended
		parts, problems := k.Compile(&c.in)
		set := parts.Whole()
		flushed, cut := recorded(t, set)
		if len(problems) != c.problems || !maps.Equal(flushed, c.flushed) || !maps.Equal(cut, c.cut) {
			t.Errorf("%s: problems %v, flushed %v, cut %v", name, problems, flushed, cut)
		}
		if again, _ := k.Compile(&before); text(again.Whole()) == text(set) && len(c.flushed) > 0 {
			t.Errorf("%s: the records stay when they are over", name)
		}
		for _, table := range set.Tables() {
			if table != rules.Inet() {
				t.Errorf("%s: it needs the table %v", name, table)
			}
		}
		if want, _ := rules.Compile(&c.in); text(want) != text(set) {
			t.Errorf("%s: the rules are\n%s\nwant\n%s", name, text(set), text(want))
		}
	}
}

// recorded returns what the rules record.
func recorded(t *testing.T, set *nft.Ruleset) (flushed, cut map[uint32]bool) {
	t.Helper()
	flushed, cut, err := rules.Remembered(func(id nft.ID) (map[uint32]bool, error) {
		s := set.Sets[id]
		if s == nil {
			return nil, nil
		}
		marks := map[uint32]bool{}
		for key := range s.Elements {
			mark, err := strconv.ParseUint(key, 0, 32)
			if err != nil {
				t.Fatal(err)
			}
			marks[uint32(mark)] = true
		}
		return marks, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return flushed, cut
}

func TestRulesRecordEndedConnections(t *testing.T) {
	one := l4test.Example(nil)
	two := direct(func(f *farm.Farm) {
		f.ID, f.L4.Ports[0] = 8, farm.PortRange{First: 81, Last: 81}
		f.L4.Backends[0].ID, f.L4.Backends[1].ID = 65535, 4
	})
	three := l4test.Example(func(f *farm.Farm) { f.ID, f.Stopped = farm.MaxFarmID, true })
	in := &rules.Input{Wire: onWire(), Farms: []farm.Farm{one, two, three},
		Flushed: map[uint32]bool{one.ID: true, two.ID: true, three.ID: true},
		Cut:     map[uint32]bool{65535: true}, Usable: func(id uint32) bool { return id != 65535 }}
	set, problems := rules.Compile(in)
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	if flushed, cut := recorded(t, set); !maps.Equal(flushed, in.Flushed) || !maps.Equal(cut, in.Cut) {
		t.Errorf("flushed %v, cut %v", flushed, cut)
	}
}
