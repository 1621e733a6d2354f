package stats_test

import (
	"reflect"
	"slices"
	"strings"
	"testing"
	"unsafe"

	"github.com/sluicelb/sluice/core/stats"
	"github.com/sluicelb/sluice/core/stats/statstest"
)

func TestReaderLearnsTheNamesOfClasses(t *testing.T) {
	_, mem := statstest.Memory(t)
	w, err := stats.CreateSegment(mem, 1)
	if err != nil {
		t.Fatal(err)
	}
	w.NameClasses("bad-request", "timeout", "h2-flood")
	r, err := stats.OpenSegment(mem)
	if err != nil {
		t.Fatal(err)
	}
	if got := r.Classes(); !slices.Equal(got, []string{"bad-request", "timeout", "h2-flood"}) {
		t.Errorf("classes %q", got)
	}
	w.NameClasses("one") // an engine with fewer classes
	if got := r.Classes(); !slices.Equal(got, []string{"one"}) {
		t.Errorf("classes %q", got)
	}
}

// Engines of one process share classes of the same name.
func TestNamesOfAnotherEngineAreAddedWhereThereIsRoom(t *testing.T) {
	s := statstest.New(t, 1)
	s.NameClasses("bad-request", "timeout")
	got := s.AddClasses("bad-request", "full", "timeout", "late")
	if want := []string{"bad-request", "timeout", "full", "late"}; !slices.Equal(got, []int{0, 2, 1, 3}) || !slices.Equal(s.Classes(), want) {
		t.Errorf("classes %v of %q", got, s.Classes())
	}
	s.NameClasses(slices.Repeat([]string{"x"}, stats.MaxClasses-1)...)
	if got, last := s.AddClasses("fits", "over"), stats.MaxClasses-1; !slices.Equal(got, []int{last, last}) || s.Classes()[last] != "fits" {
		t.Errorf("without room: classes %v of %q", got, s.Classes())
	}
}

func TestInvalidClassNamesAreIgnored(t *testing.T) {
	s := statstest.New(t, 1)
	for _, bad := range []string{"a\"b", "a\nb", "A", "é", "a b", "", "`", "{", "/", ":"} { // the last four are adjacent to a, z, 0 and 9
		s.NameClasses("good", bad, "behind")
		if got := s.Classes(); !slices.Equal(got, []string{"good"}) {
			t.Errorf("%q: classes %q", bad, got)
		}
	}
	s.NameClasses("az-09")
	if got := s.Classes(); !slices.Equal(got, []string{"az-09"}) {
		t.Errorf("a word: classes %q", got)
	}
	s.NameClasses(slices.Repeat([]string{strings.Repeat("x", 100)}, 100)...)
	if got := s.Classes(); len(got) != stats.MaxClasses || len(got[0]) > 24 {
		t.Errorf("%d classes, the first is %q", len(got), got[0])
	}
}

// The names of exported counters come from tags.
func TestEveryCounterHasANameAndAHelp(t *testing.T) {
	for _, kind := range []reflect.Type{reflect.TypeFor[stats.Loop](), reflect.TypeFor[stats.Farm](), reflect.TypeFor[stats.Backend]()} {
		seen := map[string]bool{}
		for i := range kind.NumField() {
			f := kind.Field(i)
			if !f.IsExported() {
				continue
			}
			name, help := f.Tag.Get("metric"), f.Tag.Get("help")
			switch {
			case name == "" || !strings.HasSuffix(help, "."):
				t.Errorf("%s.%s: metric %q, help %q", kind, f.Name, name, help)
			case seen[name]:
				t.Errorf("%s.%s: a second %q", kind, f.Name, name)
			case strings.HasSuffix(f.Name, "Nanos") != strings.HasSuffix(name, "_seconds_total"):
				t.Errorf("%s.%s is called %q", kind, f.Name, name)
			}
			seen[name] = true
		}
	}
	if size := unsafe.Sizeof(stats.Loop{}); size > 4096 {
		t.Errorf("a loop takes %d bytes, its page has 4096", size)
	}
}
