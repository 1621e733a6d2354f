package carry_test

import (
	"errors"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/core/logtest"
	"github.com/sluicelb/sluice/l4/kernel/carry"
	"github.com/sluicelb/sluice/l4/kernel/l4test"
	"github.com/sluicelb/sluice/l4/kernel/rules"
)

// farmsWithIDs returns farms with these numbers.
func farmsWithIDs(ids ...uint32) (farms []farm.Farm) {
	for _, id := range ids {
		farms = append(farms, l4test.Example(func(f *farm.Farm) { f.ID = id }))
	}
	return farms
}

func ids(farms []farm.Farm) (out []uint32) {
	for i := range farms {
		out = append(out, farms[i].ID)
	}
	return out
}

func TestRefusedFarmsAreOmittedOneByOne(t *testing.T) {
	all := make([]uint32, 40)
	for i := range all {
		all[i] = uint32(1 + i)
	}
	for _, c := range []struct {
		name    string
		refused uint32 // all IDs up to it are refused one by one
		carried bool
	}{{"none", 0, true}, {"two", 2, true}, {"as many as may be", 16, true}, {"too many", 17, false}} {
		var log logtest.Log
		in := &rules.Input{Farms: farmsWithIDs(all...), Hold: true}
		tried := 0
		problems, err := carry.Most(in, slog.New(slog.NewTextHandler(&log, nil)), func(left *rules.Input) (problems, refused map[uint32]string, err error) {
			tried++
			if got := ids(left.Farms); !slices.Equal(got, all[tried-1:]) || !left.Hold {
				t.Errorf("%s: tried are %v", c.name, got)
			}
			if got := ids(left.Recorded); !slices.Equal(got, all[:tried-1]) {
				t.Errorf("%s: recorded are %v", c.name, got)
			}
			if first := left.Farms[0].ID; first <= c.refused {
				return nil, map[uint32]string{first: "no"}, errors.New("no")
			}
			return map[uint32]string{40: "no hop"}, nil, nil
		})
		if !c.carried {
			if err == nil || err.Error() != "no" || problems != nil || tried != 17 {
				t.Errorf("%s: %v, %v after %d times", c.name, problems, err, tried)
			}
			continue
		}
		want := map[uint32]string{40: "no hop"}
		for id := uint32(1); id <= c.refused; id++ {
			want[id] = "the kernel refuses its rules: no"
		}
		if err != nil || !maps.Equal(problems, want) || len(log.Lines("rules refused")) != int(c.refused) {
			t.Errorf("%s: %v, %v, log %s", c.name, problems, err, log.String())
		}
		if !slices.Equal(ids(in.Farms), all) {
			t.Errorf("%s: the request was modified", c.name)
		}
	}
}

// A farm whose records are refused, too, does not affect others.
func TestFarmWithRefusedRecordsIsOmitted(t *testing.T) {
	tried := 0
	try := func(left *rules.Input) (problems, refused map[uint32]string, err error) {
		if tried++; len(left.Farms) == 2 || len(left.Recorded) > 0 {
			return nil, map[uint32]string{1: "no"}, errors.New("no")
		}
		return map[uint32]string{}, nil, nil
	}
	problems, err := carry.Most(&rules.Input{Farms: farmsWithIDs(1, 2)}, l4test.Quiet, try)
	if err != nil || tried != 3 || len(problems) != 1 || problems[1] == "" {
		t.Errorf("%v, %v after %d times", problems, err, tried)
	}
}

func TestUnattributedErrorsAreReturned(t *testing.T) {
	tried := 0
	for _, refused := range []map[uint32]string{nil, {99: "a farm that is not there"}} {
		problems, err := carry.Most(&rules.Input{Farms: farmsWithIDs(1, 2)}, l4test.Quiet, func(*rules.Input) (problems, _ map[uint32]string, err error) {
			tried++
			return nil, refused, errors.New("no memory")
		})
		if problems != nil || err == nil || err.Error() != "no memory" {
			t.Errorf("%v, %v", problems, err)
		}
	}
	if tried != 2 {
		t.Errorf("tried %d times", tried)
	}
}

// Farms with values outside the model are not tried.
func TestFarmsOutsideTheModelAreNotTried(t *testing.T) {
	farms := farmsWithIDs(1, 2, 3)
	farms[1].L4.Algorithm = "wishes"
	plain := rules.Plain(&farms[1])
	if plain == nil {
		t.Fatal("the example is plain")
	}
	problems, err := carry.Most(&rules.Input{Farms: farms}, l4test.Quiet, func(left *rules.Input) (problems, refused map[uint32]string, err error) {
		if got := ids(left.Farms); !slices.Equal(got, []uint32{1, 3}) {
			t.Errorf("tried are %v", got)
		}
		return map[uint32]string{}, nil, nil
	})
	if err != nil || len(problems) != 1 || !strings.Contains(problems[2], plain.Error()) {
		t.Errorf("%v, %v", problems, err)
	}
}
