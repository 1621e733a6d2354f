package apply_test

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"github.com/sluicelb/sluice/core/farm"
)

// oneFarm returns a random change of the named farm, which may break rules.
func oneFarm(random *rand.Rand, name string) func(cfg *farm.Config) error {
	kind, n := random.IntN(10), random.IntN(9)
	return func(cfg *farm.Config) error {
		i := slices.IndexFunc(cfg.Farms, func(f farm.Farm) bool { return f.Name == name })
		if i < 0 {
			cfg.Farms = slices.Insert(cfg.Farms, n%(len(cfg.Farms)+1), shop(name, uint16(100+n)))
			return nil
		}
		f := &cfg.Farms[i]
		s := &f.HTTP.Services[0]
		switch kind {
		case 0:
			cfg.Farms = slices.Delete(cfg.Farms, i, i+1)
		case 1:
			f.Name += "x"
		case 2:
			f.VPort = uint16(100 + n) // possibly the port of another farm
		case 3:
			f.Stopped = !f.Stopped
		case 4:
			b := s.Backends[0]
			b.ID, b.Slot, b.Port = 0, 0, uint16(1+n)
			s.Backends = append(s.Backends, b)
		case 5:
			s.Backends = s.Backends[:len(s.Backends)-min(1, len(s.Backends)-1)]
		case 6:
			s.Backends[0].Priority = uint8(n) // some values cause a warning
		case 7:
			twin := f.Clone() // with the IDs of the original
			twin.Name, twin.VPort = name+"-twin", uint16(200+n)
			cfg.Farms = append(cfg.Farms, twin)
		case 8:
			s.Backends[0].Host = []string{"127.0.0.1", "app.example"}[n%2]
		default:
			f.HTTP.ConnectTimeout = farm.Seconds(1 + n)
		}
		return nil
	}
}

// ChangeFarm and Change have the same result: configuration, IDs, warnings and refusals.
func TestChangeFarmEqualsChange(t *testing.T) {
	one, whole := newHouse(t), newHouse(t)
	one.name("app.example", "127.0.0.9")
	whole.name("app.example", "127.0.0.9")
	for seed := range uint64(250) {
		name := fmt.Sprint("farm", seed%7)
		edit := func() func(cfg *farm.Config) error { return oneFarm(rand.New(rand.NewPCG(seed, 3)), name) }
		first, err := one.ChangeFarm(t.Context(), root, "test", 0, name, edit())
		second, wrong := whole.Change(t.Context(), root, "test", 0, edit())
		if fmt.Sprint(err) != fmt.Sprint(wrong) {
			t.Fatalf("change %d of %s: %v, want %v", seed, name, err, wrong)
		}
		if !reflect.DeepEqual(first.Config, second.Config) || !reflect.DeepEqual(first.Warnings, second.Warnings) || first.Diff != second.Diff {
			t.Fatalf("change %d of %s:\n%+v %v\n%s, want\n%+v %v\n%s", seed, name, first.Config, first.Warnings, first.Diff, second.Config, second.Warnings, second.Diff)
		}
		got, _ := one.Current()
		want, _ := whole.Current()
		if !reflect.DeepEqual(got, want) {
			t.Fatalf("change %d of %s: in force is\n%+v, want\n%+v", seed, name, got, want)
		}
	}
}
