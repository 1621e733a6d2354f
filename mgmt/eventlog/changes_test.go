package eventlog_test

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/mgmt/eventlog"
	"github.com/sluicelb/sluice/mgmt/store"
)

// Configurations that share most farms yield the same events as copies that share none.
func TestEventsOfARevisionDoNotDependOnSharedFarms(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	cfg, next, told := &farm.Config{}, uint32(0), 0
	for range 1000 {
		now := &farm.Config{Farms: slices.Clone(cfg.Farms)}
		for range r.IntN(4) {
			i := r.IntN(len(now.Farms) + 1)
			switch {
			case i == len(now.Farms):
				next++
				now.Farms = append(now.Farms, farm.Farm{ID: next, Name: fmt.Sprint("f", next), HTTP: &farm.HTTP{Services: []farm.Service{{ID: next, Backends: []farm.Backend{{ID: next}}}}}})
			case r.IntN(4) == 0:
				now.Farms = slices.Delete(now.Farms, i, i+1)
			case r.IntN(4) == 0:
				now.Farms[i] = now.Farms[i].Clone() // an equal copy is no change
			default:
				now.Farms[i] = now.Farms[i].Clone()
				now.Farms[i].HTTP.Services[0].Backends[0].Maintenance = []farm.Maintenance{farm.MaintenanceOff, farm.MaintenanceDrain}[r.IntN(2)]
			}
		}
		rev := store.Revision{Number: 1}
		got, want := eventlog.Changed(cfg, now, rev), eventlog.Changed(cfg.Clone(), now.Clone(), rev)
		if !reflect.DeepEqual(got, want) {
			t.Fatalf("got %v, want %v", got, want)
		}
		told += len(got) - 1
		cfg = now
	}
	if told < 200 {
		t.Errorf("only %d events of backends and farms", told)
	}
}
