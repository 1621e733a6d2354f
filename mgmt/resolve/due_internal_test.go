package resolve

import (
	"fmt"
	"slices"
	"testing"
	"time"
)

func TestLongestWaitingNamesAreQueriedFirst(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	f := New(Options{Now: func() time.Time { return now }})
	for name, e := range map[string]entry{
		"b": {State: State{Next: now}, wanted: true}, "a": {State: State{Next: now}, wanted: true}, "z": {State: State{Next: now.Add(-time.Second)}, wanted: true},
		"later": {State: State{Next: now.Add(1)}, wanted: true}, "asked": {wanted: true, asking: make(chan struct{})}, "unwanted": {},
	} {
		f.entries[Question{Name: name}] = &e
	}
	if got := f.due(); !slices.Equal(got, []Question{{Name: "z"}, {Name: "a"}, {Name: "b"}}) {
		t.Errorf("got %v", got)
	}
	for i := range 60 {
		f.entries[Question{Name: fmt.Sprint("old", i)}] = &entry{State: State{Next: now.Add(-time.Minute)}, wanted: true}
	}
	got := f.due()
	if len(got) != 50 || slices.Contains(got, Question{Name: "z"}) {
		t.Errorf("%d at once: %v", len(got), got)
	}
}
