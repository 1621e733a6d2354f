package graph

import (
	"bytes"
	"fmt"
	"image/color"
	"image/png"
	"math"
	"os"
	"strings"
	"testing"
	"time"
)

var noon = time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)

func values(n int, of func(i int) float64) []float64 {
	out := make([]float64, n)
	for i := range out {
		out[i] = of(i)
	}
	return out
}

// drawn counts the pixels of each colour.
func drawn(t *testing.T, p Picture) map[color.RGBA]int {
	t.Helper()
	b, err := PNG(p)
	if err != nil {
		t.Fatal(err)
	}
	if to := os.Getenv("SLUICE_GRAPH"); to != "" {
		if err := os.WriteFile(to, b, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	img, err := png.Decode(bytes.NewReader(b))
	if err != nil || img.Bounds().Dx() != width || img.Bounds().Dy() != height {
		t.Fatalf("%v, %v", img, err)
	}
	out := map[color.RGBA]int{}
	for y := range height {
		for x := range width {
			r, g, b, _ := img.At(x, y).RGBA()
			out[color.RGBA{uint8(r >> 8), uint8(g >> 8), uint8(b >> 8), 255}]++
		}
	}
	return out
}

func TestEveryLineIsDrawnInItsColour(t *testing.T) {
	p := Picture{Title: "Farm shop", Unit: "/s", Start: noon, Step: time.Minute, Lines: []Line{
		{"requests", values(1440, func(i int) float64 { return 1000 + 500*math.Sin(float64(i)/100) })},
		{"errors", values(1440, func(i int) float64 { return 300 })},
	}}
	seen := drawn(t, p)
	for i := range p.Lines {
		if n := seen[colours[i].(color.RGBA)]; n < 300 {
			t.Errorf("%s: %d pixels", p.Lines[i].Name, n)
		}
	}
	if n := seen[colours[2].(color.RGBA)]; n != 0 {
		t.Errorf("a line that is none: %d pixels", n)
	}
}

func TestNothingKnownIsAnEmptyPicture(t *testing.T) {
	for name, p := range map[string]Picture{
		"no lines":  {},
		"no values": {Start: noon, Step: time.Hour, Lines: []Line{{Name: "a"}}},
		"unknown":   {Start: noon, Step: time.Hour, Lines: []Line{{"a", values(100, func(int) float64 { return math.NaN() })}}},
	} {
		if n := drawn(t, p)[colours[0].(color.RGBA)]; n != 0 {
			t.Errorf("%s: %d pixels", name, n)
		}
	}
	one := Picture{Start: noon, Step: time.Hour, Lines: []Line{{"a", []float64{7}}}}
	if n := drawn(t, one)[colours[0].(color.RGBA)]; n < 100 {
		t.Errorf("one value: %d pixels", n)
	}
}

func TestALineHasAGapWhereNothingIsKnown(t *testing.T) {
	none := math.NaN()
	p := Picture{Start: noon, Step: time.Minute}
	got := pieces(Line{"a", []float64{none, 1, 2, none, none, 3, none, 4, 5}}, p)
	first := float64(noon.Unix())
	want := fmt.Sprintf("[[{%g 1} {%g 2}] [{%g 3} {%g 3}] [{%g 4} {%g 5}]]", first+60, first+120, first+300, first+360, first+420, first+480)
	if fmt.Sprint(got) != want {
		t.Errorf("%v, want %s", got, want)
	}
}

func TestNumbersOnTheAxesAreShort(t *testing.T) {
	for v, want := range map[float64]string{0: "0", 0.25: "0.25", 999: "999", 1000: "1k", 1500: "1.5k", 2e6: "2M", 2.5e9: "2.5G", 1e12: "1T", 5e15: "5000T"} {
		if got := short(v); got != want {
			t.Errorf("%g is %s, want %s", v, got, want)
		}
	}
}

func TestTimesOnTheAxisAreRoundAndHaveRoom(t *testing.T) {
	here := time.Local
	defer func() { time.Local = here }()
	time.Local = time.FixedZone("", 2*60*60)
	from := time.Date(2026, 11, 23, 11, 47, 3, 0, time.Local)
	for _, c := range []struct {
		length time.Duration
		want   string
	}{
		{9 * time.Minute, "11:48 11:49 11:50 11:51 11:52 11:53 11:54 11:55 11:56"},
		{time.Hour, "11:50 12:00 12:10 12:20 12:30 12:40"},
		{day, "12:00 15:00 18:00 21:00 00:00 03:00 06:00 09:00"},
		{7 * day, "11-24 11-25 11-26 11-27 11-28 11-29 11-30"},
	} {
		var labels []string
		for _, tick := range (times{c.length}).Ticks(float64(from.Unix()), float64(from.Add(c.length).Unix())) {
			labels = append(labels, tick.Label)
		}
		if got := strings.Join(labels, " "); got != c.want {
			t.Errorf("%v: %s, want %s", c.length, got, c.want)
		}
	}
	for length := time.Minute; length <= 366*day; length = length*3/2 + time.Second {
		n := len((times{length}).Ticks(float64(from.Unix()), float64(from.Add(length).Unix())))
		if n > 10 || length > 2*time.Minute && length < 365*day && n == 0 {
			t.Errorf("%v: %d marks", length, n)
		}
	}
}
