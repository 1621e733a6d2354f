package mgmt

import (
	"context"
	"os"
	"reflect"
	"strings"
	"testing"
)

// A part of the manager with a method Run does nothing before it is called, e.g. renews no
// certificate.
func TestTasksRunEveryPart(t *testing.T) {
	text, err := os.ReadFile("tasks.go")
	if err != nil {
		t.Fatal(err)
	}
	_, list, found := strings.Cut(string(text), "func (m *manager) tasks() ")
	if !found {
		t.Fatal("tasks.go declares no tasks")
	}
	elsewhere := map[string]string{"logs": "keepLogs"} // run by another task
	runner, seen := reflect.TypeFor[interface{ Run(context.Context) }](), 0
	for _, part := range reflect.VisibleFields(reflect.TypeFor[manager]()) {
		if part.Anonymous || !part.Type.Implements(runner) && !reflect.PointerTo(part.Type).Implements(runner) {
			continue
		}
		seen++
		want := "m." + part.Name + ".Run"
		if by := elsewhere[part.Name]; by != "" {
			want = "m." + by
		}
		if !strings.Contains(list, want+",") {
			t.Errorf("tasks lacks %s", want)
		}
	}
	if seen < 8 {
		t.Errorf("got %d parts with a method Run, want at least 8", seen)
	}
}
