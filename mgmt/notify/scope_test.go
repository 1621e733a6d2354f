package notify

import (
	"fmt"
	"reflect"
	"testing"
	"time"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/core/farm/changetest"
	"github.com/sluicelb/sluice/mgmt/event"
)

// With an unchanged version only changed farms are examined. The recorded states must be the
// same as after examining all farms.
func TestIncrementalStatesEqualAFullScan(t *testing.T) {
	known := Known{Known: event.Known{
		Health: func(id uint32) farm.Status {
			return []farm.Status{farm.StatusUp, farm.StatusUp, farm.StatusDown}[id%3]
		},
		Farm: func(f *farm.Farm) (farm.Status, string) {
			return []farm.Status{farm.StatusUp, farm.StatusProblem, farm.StatusDown}[f.VPort%3], "reason"
		},
	}}
	for seed := range uint64(10) {
		h, all := newHouse(t), newHouse(t)
		for i, cfg := range changetest.Configs(seed, 60) {
			for _, one := range []*house{h, all} {
				one.pass(time.Duration(seed) * time.Second)
			}
			h.LookBackends(cfg, 1, known)
			all.LookBackends(cfg, uint64(i+1), known)
			if got, want := recorded(h), recorded(all); !reflect.DeepEqual(got, want) {
				t.Fatalf("seed %d, change %d: got %v, want %v", seed, i, got, want)
			}
		}
	}
}

// recorded describes the states of backends and farms.
func recorded(h *house) map[string]string {
	out := map[string]string{}
	for id, one := range h.states.backends {
		out[fmt.Sprint("backend ", id)] = fmt.Sprint(one.told, one.differs, one.flaps)
	}
	for id, one := range h.states.farms {
		out[fmt.Sprint("farm ", id)] = fmt.Sprint(one.told, one.differs, one.flaps)
	}
	return out
}
