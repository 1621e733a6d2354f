package graph

import (
	"bytes"
	"fmt"
	"image"
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

// painted returns the drawn picture.
func painted(t *testing.T, p Picture) image.Image {
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
	return img
}

func pixel(img image.Image, x, y int) color.RGBA {
	r, g, b, _ := img.At(x, y).RGBA()
	return color.RGBA{uint8(r >> 8), uint8(g >> 8), uint8(b >> 8), 255}
}

// countColours counts the pixels of each colour.
func countColours(t *testing.T, p Picture) map[color.RGBA]int {
	t.Helper()
	img := painted(t, p)
	out := map[color.RGBA]int{}
	for y := range height {
		for x := range width {
			out[pixel(img, x, y)]++
		}
	}
	return out
}

// where returns the smallest part of an area with all pixels in the colour of a line.
func where(img image.Image, line int, area image.Rectangle) (out image.Rectangle) {
	for y := area.Min.Y; y < area.Max.Y; y++ {
		for x := area.Min.X; x < area.Max.X; x++ {
			if pixel(img, x, y) == colours[line] {
				out = out.Union(image.Rect(x, y, x+1, y+1))
			}
		}
	}
	return out
}

func TestEveryLineIsDrawnInItsColour(t *testing.T) {
	p := Picture{Title: "Farm shop", Unit: "/s", Start: noon, Step: time.Minute, Lines: []Line{
		{"requests", values(1440, func(i int) float64 { return 1000 + 500*math.Sin(float64(i)/100) })},
		{"errors", values(1440, func(i int) float64 { return 300 })},
	}}
	seen := countColours(t, p)
	for i := range p.Lines {
		if n := seen[colours[i].(color.RGBA)]; n < 300 {
			t.Errorf("%s: %d pixels", p.Lines[i].Name, n)
		}
	}
	grid := 0
	for c, n := range seen {
		if c.R == c.G && c.G == c.B && c.R > 200 && c.R < 255 {
			grid += n
		}
	}
	if grid < 2000 {
		t.Errorf("the grid: %d pixels", grid)
	}
	if n := seen[colours[2].(color.RGBA)]; n != 0 {
		t.Errorf("a line that is none: %d pixels", n)
	}
}

func TestUnknownValuesDrawNothing(t *testing.T) {
	for name, p := range map[string]Picture{
		"no lines":  {},
		"no values": {Start: noon, Step: time.Hour, Lines: []Line{{Name: "a"}}},
		"unknown":   {Start: noon, Step: time.Hour, Lines: []Line{{"a", values(100, func(int) float64 { return math.NaN() })}}},
	} {
		if n := countColours(t, p)[colours[0].(color.RGBA)]; n != 0 {
			t.Errorf("%s: %d pixels", name, n)
		}
	}
	one := Picture{Start: noon, Step: time.Hour, Lines: []Line{{"a", []float64{7}}}}
	if n := countColours(t, one)[colours[0].(color.RGBA)]; n < 100 {
		t.Errorf("one value: %d pixels", n)
	}
}

func TestUnknownValuesLeaveGaps(t *testing.T) {
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

// constant returns a picture of constant lines.
func constant(n int, levels ...float64) Picture {
	p := Picture{Title: "Title", Unit: "B/s", Start: noon, Step: time.Minute}
	for i, v := range levels {
		p.Lines = append(p.Lines, Line{fmt.Sprint("line ", i), values(n, func(int) float64 { return v })})
	}
	return p
}

var right, legend = image.Rect(width/2, 0, width, height), image.Rect(0, 0, width/2, height/2)

// Numbers are not negative, and small ones must look small.
func TestTheAxisBeginsAtZeroAndReachesOne(t *testing.T) {
	levels := func(v ...float64) (at []int) {
		img := painted(t, constant(60, v...))
		for i := range v {
			one := where(img, i, right)
			if one.Empty() || one.Dy() > 3 {
				t.Fatalf("the level of %g is drawn at %v", v[i], one)
			}
			at = append(at, one.Min.Y)
		}
		return at
	}
	many, few := levels(1e9, 0.1e9), levels(0.5, 0.1)
	tenth := float64(many[1]-many[0]) / 9
	if many[0] > 20 || // below a title in small letters
		tenth < height/20 || math.Abs(float64(few[1]-many[1])) > 1 || math.Abs(float64(few[0]-many[0])-5*tenth) > 1 {
		t.Errorf("all and a tenth of much are at %v, 0.5 and 0.1 at %v", many, few)
	}
}

func TestTheAxisIsAsLongAsTheTimeOfAllValues(t *testing.T) {
	low := image.Rect(0, height/2, width, height) // without the legend
	whole := where(painted(t, constant(1000, 0)), 0, low)
	p := constant(2, 0)
	if half := where(painted(t, p), 0, low); math.Abs(float64(half.Min.X-whole.Min.X)) > 2 || math.Abs(float64(half.Dx()-whole.Dx()/2)) > 12 {
		t.Errorf("the first of two values is drawn at %v, of %v", half, whole)
	}
	p.Lines = append(p.Lines, constant(4, 1).Lines[0])
	if quarter := where(painted(t, p), 0, low); math.Abs(float64(quarter.Dx()-whole.Dx()/4)) > 12 {
		t.Errorf("the first of two values beside four is at %v of %v", quarter, whole)
	}
	for want, p := range map[time.Duration]Picture{
		time.Second: {}, time.Minute: {Step: time.Minute}, 4 * time.Minute: p,
	} {
		if got := p.length(); got != want {
			t.Errorf("%d lines: %v, want %v", len(p.Lines), got, want)
		}
	}
}

func TestEachLineIsNamedOnceAtTheTopLeft(t *testing.T) {
	p := constant(60, 0, 9)
	entry := where(painted(t, p), 0, legend) // the level of 0 is below
	if entry.Empty() || entry.Max.X > width/2-1 || entry.Dy() > 3 {
		t.Fatalf("the first line is named at %v", entry)
	}
	p.Lines[0].Values[10], p.Lines[0].Values[30] = math.NaN(), math.NaN()
	if gaps := where(painted(t, p), 0, legend); gaps != entry {
		t.Errorf("with gaps it is named at %v, not at %v", gaps, entry)
	}
}

// These colours can be distinguished with colour blindness for red or green.
func TestPicturesAndColoursAreAsAgreed(t *testing.T) {
	if got := fmt.Sprint(width, height, colours); got != "600 220 [{0 114 178 255} {213 94 0 255} {0 158 115 255} {204 121 167 255} {230 159 0 255} {86 180 233 255} {0 0 0 255}]" {
		t.Errorf("got %s", got)
	}
}

func TestUndrawableValuesAreAnError(t *testing.T) {
	for range 2 { // the next caller does not wait for this one
		if b, err := PNG(constant(2, 1, math.Inf(1))); err == nil || !strings.Contains(err.Error(), "line 1") {
			t.Errorf("%d bytes, %v", len(b), err)
		}
	}
}

func TestColoursComeAgain(t *testing.T) {
	img := painted(t, constant(60, 7, 6, 5, 4, 3, 2, 1, 0))
	if at := where(img, 0, right); at.Dy() < height/2 {
		t.Errorf("the first and the eighth line, the highest and the lowest, are drawn at %v", at)
	}
}

func TestPictureShowsTitleUnitAndNames(t *testing.T) {
	base, err := PNG(constant(60, 1))
	if err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string]func(p *Picture){
		"the title": func(p *Picture) { p.Title = "Other" }, "the unit": func(p *Picture) { p.Unit = "%" }, "a name": func(p *Picture) { p.Lines[0].Name = "other" },
	} {
		p := constant(60, 1)
		change(&p)
		if got, err := PNG(p); err != nil || bytes.Equal(got, base) {
			t.Errorf("%s is not seen, %v", name, err)
		}
	}
}

func TestMarksOfTimesAreAtMostNineStepsApart(t *testing.T) {
	for _, c := range []struct{ longest, step time.Duration }{
		{9 * time.Minute, time.Minute}, {45 * time.Minute, 5 * time.Minute}, {90 * time.Minute, 10 * time.Minute}, {270 * time.Minute, 30 * time.Minute},
		{9 * time.Hour, time.Hour}, {27 * time.Hour, 3 * time.Hour}, {54 * time.Hour, 6 * time.Hour}, {9 * day, day}, {63 * day, 7 * day}, {270 * day, 30 * day},
	} {
		format := "15:04"
		if c.step >= day {
			format = "01-02"
		}
		if step, as := (times{c.longest}).apart(); step != c.step || as != format {
			t.Errorf("%v: every %v as %s", c.longest, step, as)
		}
		if step, _ := (times{c.longest + 1}).apart(); step <= c.step {
			t.Errorf("more than %v: every %v", c.longest, step)
		}
	}
	if step, as := (times{271 * day}).apart(); step != 61*day || as != "2006-01" {
		t.Errorf("a year: every %v as %s", step, as)
	}
	if marks := (times{2 * time.Minute}).Ticks(float64(noon.Unix()), float64(noon.Unix()+120)); len(marks) != 3 || marks[0].Value != float64(noon.Unix()) {
		t.Errorf("between round times: %v", marks)
	}
	if marks := (times{2 * time.Minute}).Ticks(float64(noon.Unix()+1), float64(noon.Unix()+61)); len(marks) != 1 || marks[0].Value != float64(noon.Unix()+60) {
		t.Errorf("a second after a round time: %v", marks)
	}
}

func TestMarksOfLargeNumbersAreShortAndSmallOnesStayBlank(t *testing.T) {
	named, blank := "", 0
	for _, mark := range (scaled{}).Ticks(0, 20_000) {
		if mark.Label == "" {
			blank++
			continue
		}
		named += mark.Label + " "
	}
	if named != "0 10k 20k " && named != "0 5k 10k 15k 20k " || blank == 0 {
		t.Errorf("marked %s, %d without a name", named, blank)
	}
}
