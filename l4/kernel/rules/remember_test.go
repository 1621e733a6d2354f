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
	if err != nil || !maps.Equal(flushed, in.Flushed) || !maps.Equal(cut, in.Cut) {
		t.Errorf("flushed %v, cut %v, %v", flushed, cut, err)
	}
}
