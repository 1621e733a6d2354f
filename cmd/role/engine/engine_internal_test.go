package engine

import (
	"reflect"
	"runtime"
	"testing"

	"github.com/sluicelb/sluice/core/link"
	"github.com/sluicelb/sluice/core/loop"
	"github.com/sluicelb/sluice/core/stats"
)

func TestLoopsVariableSetsTheNumberOfLoops(t *testing.T) {
	for text, want := range map[string]int{"1": 1, "64": 64, "": min(runtime.NumCPU(), stats.MaxShards), "0": 0, "65": 0, "-1": 0, "two": 0} {
		t.Setenv(LoopsVariable, text)
		if got, err := loopCount(); got != want || (err == nil) != (want > 0) {
			t.Errorf("%q: %d loops, %v", text, got, err)
		}
	}
}

// Each counter of a loop is in the memory with its name.
func TestLoopsCountWhereTheirCountersAre(t *testing.T) {
	var memory stats.Loop
	counters := reflect.ValueOf(loopCounters(&memory)).Elem()
	if n := reflect.TypeFor[loop.Counters]().NumField(); counters.NumField() != n {
		t.Fatalf("%d counters, want %d", counters.NumField(), n)
	}
	for i := range counters.NumField() {
		name := counters.Type().Field(i).Name
		if got, want := counters.Field(i).Interface().(*uint64), reflect.ValueOf(&memory).Elem().FieldByName(name).Addr().Interface().(*uint64); got != want {
			t.Errorf("%s is counted elsewhere", name)
		}
	}
}

func TestUnknownChangeOfSessionsIsAnError(t *testing.T) {
	if n, err := (&engine{}).ChangeSessions(link.SessionChange{Act: 99}); n != 0 || err == nil {
		t.Errorf("%d changed, %v", n, err)
	}
}
