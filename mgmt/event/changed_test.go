package event_test

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/mgmt/event"
	"github.com/sluicelb/sluice/mgmt/store"
)

// Configurations that share most farms yield the same events as copies that share none.
func TestEventsOfAChangeDoNotDependOnSharedFarms(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	cfg, next, told := &farm.Config{}, uint32(0), 0
	for range 1000 {
		now := &farm.Config{Farms: slices.Clone(cfg.Farms)}
		for range r.IntN(4) {
			i := r.IntN(len(now.Farms) + 1)
			switch {
			case i == len(now.Farms):
				next++
				now.Farms = append(now.Farms, web(next, fmt.Sprint("f", next), r.IntN(2) == 0))
			case r.IntN(3) == 0:
				now.Farms = slices.Delete(now.Farms, i, i+1)
			default:
				now.Farms[i] = now.Farms[i].Clone()
				now.Farms[i].Stopped = r.IntN(2) == 0
			}
		}
		rev := store.Revision{Number: 1}
		got, want := event.Changed(cfg, now, rev, at), event.Changed(cfg.Clone(), now.Clone(), rev, at)
		if !reflect.DeepEqual(got, want) {
			t.Fatalf("got %q, want %q", kindsOf(got), kindsOf(want))
		}
		told += len(got) - 1
		cfg = now
	}
	if told < 200 {
		t.Errorf("only %d starts and stops", told)
	}
}
