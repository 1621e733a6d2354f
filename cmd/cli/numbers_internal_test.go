package cli

import (
	"errors"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sluicelb/sluice/cmd/cli/show"
)

func TestNumbersAreShownShort(t *testing.T) {
	for n, want := range map[uint64]string{0: "0 B", 1023: "1023 B", 1024: "1.0 KiB", 1536: "1.5 KiB", 1<<20 - 1: "1024.0 KiB", 1 << 20: "1.0 MiB", 5 << 30: "5.0 GiB", 7 << 40: "7.0 TiB", 1 << 50: "1.0 PiB", math.MaxUint64: "16384.0 PiB"} {
		if got := show.Size(n); got != want {
			t.Errorf("size of %d: %s, want %s", n, got, want)
		}
	}
	for n, want := range map[int64]string{0: "-", 1: "1µs", 999: "999µs", 1000: "1ms", 9999: "9.999ms", 10_000: "10ms", 10_049: "10ms", 10_050: "10.1ms", 99_949: "99.9ms", 100_499: "100ms", 1_234_567: "1.235s", 9_999_400: "9.999s", 12_345_678: "12.3s"} {
		if got := micros(n); got != want {
			t.Errorf("%d microseconds: %s, want %s", n, got, want)
		}
	}
	for seconds, want := range map[float64]any{0: nil, 0.0015: "1.5ms", 0.000004: "0s", 0.000005: "10µs", 2: "2s"} {
		if got := mean(seconds); got != want {
			t.Errorf("mean of %v: %v, want %v", seconds, got, want)
		}
	}
	for _, c := range []struct {
		value any
		want  string
	}{
		{nil, "-"}, {"", "-"}, {"a", "a"}, {0.5, "0.5"}, {3600.0, "3600"}, {1.23456, "1.235"}, {100.0, "100"}, {[]any{}, "-"}, {[]any{"a", 2.0, nil}, "a, 2, -"}, {7, "7"}, {true, "true"},
	} {
		if got := show.Cell(c.value); got != c.want {
			t.Errorf("%v: %q, want %q", c.value, got, c.want)
		}
	}
}

func TestRatesAreOfTheTimeBetweenTwoLooks(t *testing.T) {
	began := time.Unix(1_000_000_000, 0)
	look := func(after time.Duration, events map[string]uint64) *sample { return &sample{began.Add(after), events} }
	farm, layer4, backend := counted{FarmName: "a", Profile: "http"}, counted{FarmName: "b", Profile: "l4xnat"}, counted{Service: "s", ID: 3, Profile: "l4xnat"}
	farm.Counters.Requests, farm.Counters.Connections = 30, 1000
	layer4.Counters.Connections, layer4.Counters.Requests = 12, 1000
	backend.Counters.Connects = 7
	before := look(0, map[string]uint64{"a//0": 10, "b//0": 12, "/s/3": 4})
	for _, c := range []struct {
		v         counted
		last, now *sample
		want      any
	}{
		{farm, before, look(2*time.Second, nil), "10.0"}, {layer4, before, look(time.Second, nil), "0.0"}, {backend, before, look(2*time.Second, nil), "1.5"},
		{farm, nil, look(time.Second, nil), nil}, {farm, before, look(0, nil), nil}, {farm, before, look(-time.Second, nil), nil},
		{farm, look(0, map[string]uint64{"b//0": 1}), look(time.Second, nil), nil}, {farm, look(0, map[string]uint64{"a//0": 31}), look(time.Second, nil), nil},
	} {
		if got := rate(c.v, c.last, c.now); got != c.want {
			t.Errorf("%s: %v, want %v", c.v.key(), got, c.want)
		}
	}
}

// failing fails every write.
type failing struct{}

func (failing) Write([]byte) (int, error) { return 0, errors.New("no space left") }

func TestALogThatCannotBeShownIsAnError(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "a.log")
	if err := os.WriteFile(path, []byte("a\x1bb\n\tc\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, follow := range []bool{false, true} {
		for name, tl := range map[string]tail{"no space left": {path: path, out: failing{}}, dir + ": ": {path: dir, out: failing{}}, "not a directory": {path: path + "/x", out: failing{}}} {
			if err := tl.show(t.Context(), 9, follow); err == nil || !strings.Contains(err.Error(), name) {
				t.Errorf("%s, follow %v: %v", name, follow, err)
			}
		}
	}
	for clean, want := range map[bool]string{true: "a·b\n\tc\n", false: "a\x1bb\n\tc\n"} {
		var out strings.Builder
		tl := tail{path: path, out: &out, clean: clean}
		if err := tl.show(t.Context(), 9, false); err != nil || out.String() != want {
			t.Errorf("for a terminal %v: %q, %v", clean, out.String(), err)
		}
	}
}
