package timeseries_test

import (
	"errors"
	"fmt"
	"log/slog"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sluicelb/sluice/core/logtest"
	"github.com/sluicelb/sluice/mgmt/timeseries"
)

var noon = time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)

func openDB(t *testing.T, dir string) *timeseries.DB {
	t.Helper()
	db, err := timeseries.Open(dir, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(db.Close)
	return db
}

// write writes series every 5 s, n times.
func write(db *timeseries.DB, from time.Time, n int, value func(i int) float64, names ...string) {
	for i := range n {
		var values []timeseries.Value
		for _, name := range names {
			kind := timeseries.Mean
			if strings.HasPrefix(name, "max") {
				kind = timeseries.Max
			}
			values = append(values, timeseries.Value{Series: name, Kind: kind, Value: value(i)})
		}
		db.Write("farm-1", from.Add(time.Duration(i)*5*time.Second), values)
	}
}

// formatPoints formats points; - means unknown.
func formatPoints(values []float64) string {
	var out []string
	for _, v := range values {
		if math.IsNaN(v) {
			out = append(out, "-")
			continue
		}
		out = append(out, fmt.Sprintf("%.4g", v))
	}
	return strings.Join(out, " ")
}

func read(t *testing.T, db *timeseries.DB, from, to, now time.Time, series ...string) timeseries.Points {
	t.Helper()
	p, err := db.Read("farm-1", from, to, now, series...)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestValuesRoundTrip(t *testing.T) {
	db := openDB(t, t.TempDir())
	write(db, noon, 4, func(i int) float64 { return float64(i * 100) }, "a")
	db.Write("farm-1", noon.Add(30*time.Second), []timeseries.Value{{Series: "a", Value: 7}})
	p := read(t, db, noon.Add(-5*time.Second), noon.Add(30*time.Second), noon.Add(30*time.Second), "a", "none")
	if got := formatPoints(p.Values[0]); got != "- 0 100 200 300 - - 7" || formatPoints(p.Values[1]) != "- - - - - - - -" {
		t.Errorf("%s and %s", got, formatPoints(p.Values[1]))
	}
	if !p.Start.Equal(noon.Add(-5*time.Second)) || p.Step != 5*time.Second {
		t.Errorf("from %v, every %v", p.Start, p.Step)
	}
	if _, err := db.Read("farm-2", noon, noon, noon, "a"); !errors.Is(err, timeseries.ErrNone) {
		t.Errorf("another object: %v", err)
	}
}

func TestUnknownHasTheRowsOfAnObjectWithoutValues(t *testing.T) {
	db := openDB(t, t.TempDir())
	write(db, noon, 1, func(int) float64 { return 1 }, "other")
	now := noon.Add(400*24*time.Hour + 7*time.Second)
	for _, at := range []struct{ from, to time.Time }{
		{now.Add(-time.Hour), now}, {now.Add(-time.Hour), now.Add(-time.Minute)}, {now.Add(-7 * 24 * time.Hour), now},
		{now, now}, {now.Add(-900 * 24 * time.Hour), now}, {now, now.Add(-time.Hour)}, {time.Unix(-5, 0), time.Unix(-1, 0)},
	} {
		want, got := read(t, db, at.from, at.to, now, "a", "b"), timeseries.Unknown(at.from, at.to, now, 2)
		if !got.Start.Equal(want.Start) || got.Step != want.Step || len(got.Values) != 2 || formatPoints(got.Values[1]) != formatPoints(want.Values[1]) || formatPoints(got.Values[0]) != formatPoints(want.Values[0]) {
			t.Errorf("from %v to %v: %v, every %v, %d values; want %v, every %v, %d values", at.from, at.to, got.Start, got.Step, len(got.Values[0]), want.Start, want.Step, len(want.Values[0]))
		}
	}
}

// The current period has no value yet. That is not a gap.
func TestCurrentPeriodIsOmitted(t *testing.T) {
	db := openDB(t, t.TempDir())
	write(db, noon, 2, func(int) float64 { return 1 }, "a", "b")
	now := noon.Add(12 * time.Second)
	p := read(t, db, noon, now, now, "a", "b")
	if formatPoints(p.Values[0]) != "1 1" || formatPoints(p.Values[1]) != "1 1" {
		t.Errorf("now: %s and %s", formatPoints(p.Values[0]), formatPoints(p.Values[1]))
	}
	if p := read(t, db, noon, now, now.Add(5*time.Second), "a", "b"); formatPoints(p.Values[0]) != "1 1 -" {
		t.Errorf("a step later: %s", formatPoints(p.Values[0]))
	}
	db.Write("farm-1", now, []timeseries.Value{{Series: "a", Value: math.NaN()}, {Series: "b", Value: 3}})
	if p := read(t, db, noon, now, now, "a", "b"); formatPoints(p.Values[0]) != "1 1 -" || formatPoints(p.Values[1]) != "1 1 3" {
		t.Errorf("one known series: %s and %s", formatPoints(p.Values[0]), formatPoints(p.Values[1]))
	}
}

func TestOlderTimesAreMeansAndMaxima(t *testing.T) {
	db := openDB(t, t.TempDir())
	day := noon.Add(25 * time.Hour) // minutes go back 24 h
	write(db, noon, 13, func(i int) float64 { return float64(i) }, "mean", "max")
	p := read(t, db, noon, noon.Add(time.Minute), noon.Add(2*time.Hour), "mean", "max")
	if p.Step != time.Minute || formatPoints(p.Values[0]) != "5.5 -" || formatPoints(p.Values[1]) != "11 -" {
		t.Errorf("minutes: %s and %s every %v", formatPoints(p.Values[0]), formatPoints(p.Values[1]), p.Step)
	}
	// Five minutes with one known minute, an hour with one known value.
	write(db, day, 1, func(int) float64 { return 1 }, "mean", "max")
	for _, c := range []struct {
		ago  time.Duration
		step time.Duration
	}{{25 * time.Hour, 5 * time.Minute}, {8 * 24 * time.Hour, time.Hour}} {
		p = read(t, db, noon, noon, noon.Add(c.ago), "mean", "max")
		if p.Step != c.step || formatPoints(p.Values[0]) != "8.75" || formatPoints(p.Values[1]) != "12" {
			t.Errorf("%v ago: %s and %s every %v", c.ago, formatPoints(p.Values[0]), formatPoints(p.Values[1]), p.Step)
		}
	}
}

// A file keeps its size. That of a farm with ten backends is at most 1 MiB.
func TestAFileKeepsItsSize(t *testing.T) {
	dir := t.TempDir()
	db := openDB(t, dir)
	var names []string
	for i := range 38 {
		names = append(names, fmt.Sprint("series ", i))
	}
	write(db, noon, 1, func(int) float64 { return 1 }, names...)
	size := func() int64 {
		info, err := os.Stat(filepath.Join(dir, "farm-1.numbers"))
		if err != nil {
			t.Fatal(err)
		}
		return info.Size()
	}
	first := size()
	if first > 1<<20 {
		t.Errorf("%d bytes", first)
	}
	for i := range 900 { // more than an hour, so that the first rows are overwritten
		write(db, noon.Add(time.Duration(i)*5*time.Second), 1, func(int) float64 { return float64(i) }, names...)
	}
	if size() != first {
		t.Errorf("%d bytes, and %d before", size(), first)
	}
	end := noon.Add(899 * 5 * time.Second)
	p := read(t, db, end.Add(-time.Hour), end, end, "series 37")
	if n := len(p.Values[0]); n != 720 || p.Values[0][0] != 180 || p.Values[0][n-1] != 899 {
		t.Errorf("%d values, %v … %v", n, p.Values[0][0], p.Values[0][n-1])
	}
	if p := read(t, db, noon, noon.Add(time.Minute), end.Add(-time.Hour/4), "series 0"); formatPoints(p.Values[0]) != strings.TrimSpace(strings.Repeat("- ", 13)) {
		t.Errorf("overwritten values: %s", formatPoints(p.Values[0]))
	}
}

func TestNumbersOutliveTheProcess(t *testing.T) {
	dir := t.TempDir()
	db := openDB(t, dir)
	write(db, noon, 6, func(int) float64 { return 10 }, "a") // half a minute
	db.Close()
	db = openDB(t, dir)
	write(db, noon.Add(10*time.Minute), 1, func(int) float64 { return 30 }, "a")
	p := read(t, db, noon, noon.Add(10*time.Second), noon.Add(10*time.Minute), "a")
	if formatPoints(p.Values[0]) != "10 10 10" {
		t.Errorf("read %s", formatPoints(p.Values[0]))
	}
	if p := read(t, db, noon, noon, noon.Add(3*time.Hour), "a"); formatPoints(p.Values[0]) != "10" {
		t.Errorf("the minute that was cut in two: %s", formatPoints(p.Values[0]))
	}
}

func TestANewSeriesDoesNotHaveTheValuesOfAnother(t *testing.T) {
	db := openDB(t, t.TempDir())
	five := func(int) float64 { return 5 }
	write(db, noon, 6, five, "a", "b")
	write(db, noon.Add(30*time.Second), 7, func(int) float64 { return 9 }, "a", "c") // c takes the column of b
	p := read(t, db, noon, noon.Add(time.Minute), noon.Add(time.Minute), "a", "b", "c")
	if formatPoints(p.Values[0]) != "5 5 5 5 5 5 9 9 9 9 9 9 9" || formatPoints(p.Values[2]) != "- - - - - - 9 9 9 9 9 9 9" || strings.Trim(formatPoints(p.Values[1]), "- ") != "" {
		t.Errorf("%s; %s; %s", formatPoints(p.Values[0]), formatPoints(p.Values[1]), formatPoints(p.Values[2]))
	}
	if p := read(t, db, noon, noon, noon.Add(2*time.Hour), "a", "c"); formatPoints(p.Values[0]) != "7" || formatPoints(p.Values[1]) != "9" {
		t.Errorf("their minute: %s and %s", formatPoints(p.Values[0]), formatPoints(p.Values[1]))
	}
	write(db, noon.Add(65*time.Second), 1, five, "a", "c", "d") // the file grows
	p = read(t, db, noon.Add(55*time.Second), noon.Add(65*time.Second), noon.Add(65*time.Second), "a", "c", "d")
	if formatPoints(p.Values[0]) != "9 9 5" || formatPoints(p.Values[1]) != "9 9 5" || formatPoints(p.Values[2]) != "- - 5" {
		t.Errorf("after it grew: %s; %s; %s", formatPoints(p.Values[0]), formatPoints(p.Values[1]), formatPoints(p.Values[2]))
	}
	if p := read(t, db, noon, noon, noon.Add(2*time.Hour), "a", "c"); formatPoints(p.Values[0]) != "7" || formatPoints(p.Values[1]) != "9" {
		t.Errorf("the minute after it grew: %s and %s", formatPoints(p.Values[0]), formatPoints(p.Values[1]))
	}
}

func TestADamagedFileIsPutAside(t *testing.T) {
	for name, damage := range map[string]func(b []byte) []byte{
		"begins otherwise": func(b []byte) []byte { b[0] ^= 1; return b },
		"another number":   func(b []byte) []byte { b[25] ^= 1; return b },
		"very many series": func(b []byte) []byte { b[27] = 0xff; return b },
		"another name":     func(b []byte) []byte { b[40] ^= 1; return b },
		"cut off":          func(b []byte) []byte { return b[:100] },
		"empty":            func([]byte) []byte { return nil },
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			db := openDB(t, dir)
			write(db, noon, 1, func(int) float64 { return 1 }, "a")
			db.Close()
			path := filepath.Join(dir, "farm-1.numbers")
			b, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, damage(b), 0o600); err != nil {
				t.Fatal(err)
			}
			var log logtest.Log
			db, err = timeseries.Open(dir, slog.New(slog.NewTextHandler(&log, nil)))
			if err != nil {
				t.Fatal(err)
			}
			defer db.Close()
			write(db, noon, 1, func(int) float64 { return 2 }, "a")
			if p := read(t, db, noon, noon, noon, "a"); formatPoints(p.Values[0]) != "2" {
				t.Errorf("read %s", formatPoints(p.Values[0]))
			}
			if _, err := os.Stat(path + ".damaged"); err != nil || len(log.Lines("begun anew")) != 1 {
				t.Errorf("%v, log %v", err, log.Lines("numbers"))
			}
		})
	}
}

// A write error is logged once, as is the recovery.
func TestDiskFailureIsLoggedOnce(t *testing.T) {
	var log logtest.Log
	dir := filepath.Join(t.TempDir(), "numbers")
	db, err := timeseries.Open(dir, slog.New(slog.NewTextHandler(&log, nil)))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if err := os.Remove(dir); err != nil {
		t.Fatal(err)
	}
	write(db, noon, 3, func(int) float64 { return 1 }, "a")
	if n := len(log.Lines("are not kept")); n != 1 {
		t.Errorf("logged %d times", n)
	}
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	write(db, noon, 3, func(int) float64 { return 1 }, "a")
	if n := len(log.Lines("kept again")); n != 1 {
		t.Errorf("the recovery was logged %d times", n)
	}
}

// A file truncated after the header has no rows.
func TestMissingRowsAreUnknown(t *testing.T) {
	dir := t.TempDir()
	db := openDB(t, dir)
	write(db, noon, 1, func(int) float64 { return 1 }, "a")
	db.Close()
	if err := os.Truncate(filepath.Join(dir, "farm-1.numbers"), 4096); err != nil {
		t.Fatal(err)
	}
	db = openDB(t, dir)
	p := read(t, db, noon, noon, noon, "a")
	write(db, noon.Add(5*time.Second), 1, func(int) float64 { return 2 }, "a")
	if got := formatPoints(p.Values[0]) + ", " + formatPoints(read(t, db, noon, noon.Add(5*time.Second), noon, "a").Values[0]); got != "-, - 2" {
		t.Errorf("read %s, want %s", got, "-, - 2")
	}
}

func TestUnwrittenSeriesIsUnknown(t *testing.T) {
	db := openDB(t, t.TempDir())
	one := func(int) float64 { return 1 }
	write(db, noon, 1, one, "a", "b")
	write(db, noon.Add(5*time.Second), 1, one, "b")
	now := noon.Add(10 * time.Second)
	if p := read(t, db, noon, noon.Add(5*time.Second), now, "a", "b"); formatPoints(p.Values[0]) != "1 -" || formatPoints(p.Values[1]) != "1 1" {
		t.Errorf("read %s and %s", formatPoints(p.Values[0]), formatPoints(p.Values[1]))
	}
	if p := read(t, db, now, now, now, "a"); formatPoints(p.Values[0]) != "-" {
		t.Errorf("a time alone that has not ended has %d values", len(p.Values[0]))
	}
}

func TestFilesOfRemovedFarmsAreDeletedAfterAWeek(t *testing.T) {
	dir := t.TempDir()
	db := openDB(t, dir)
	for _, name := range []string{"farm-1", "farm-2"} {
		db.Write(name, noon, []timeseries.Value{{Series: "a", Value: 1}})
	}
	if err := os.WriteFile(filepath.Join(dir, "notes"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	there := func() (names string) {
		entries, _ := os.ReadDir(dir)
		for _, e := range entries {
			names += e.Name() + " "
		}
		return names
	}
	if err := os.WriteFile(filepath.Join(dir, "farm-2"), nil, 0o600); err != nil { // a foreign file
		t.Fatal(err)
	}
	written := time.Now().Truncate(time.Second)
	for name, at := range map[string]time.Time{"farm-1.numbers": written, "farm-2.numbers": written, "farm-2": written.Add(-time.Hour)} {
		if err := os.Chtimes(filepath.Join(dir, name), at, at); err != nil {
			t.Fatal(err)
		}
	}
	kept := func(name string) bool { return name == "farm-1" }
	if db.Sweep(written.Add(7*24*time.Hour-1), kept); there() != "farm-1.numbers farm-2 farm-2.numbers notes " {
		t.Errorf("before a week: %s", there())
	}
	if db.Sweep(written.Add(7*24*time.Hour), kept); there() != "farm-1.numbers farm-2 notes " {
		t.Errorf("after a week: %s", there())
	}
	if _, err := db.Read("farm-2", noon, noon, noon, "a"); !errors.Is(err, timeseries.ErrNone) {
		t.Errorf("read of a removed series: %v", err)
	}
}

func TestClockJumpKeepsOtherValues(t *testing.T) {
	db := openDB(t, t.TempDir())
	one := func(int) float64 { return 1 }
	write(db, noon, 3, one, "a")
	write(db, noon.Add(24*time.Hour), 2, one, "a")
	write(db, noon.Add(15*time.Second), 3, one, "a")
	p := read(t, db, noon, noon.Add(25*time.Second), noon.Add(25*time.Second), "a")
	if got := formatPoints(p.Values[0]); got != "- - 1 1 1 1" { // a later day has overwritten the first two
		t.Errorf("read %s, want %s", got, "- - 1 1 1 1")
	}
	if p := read(t, db, noon.Add(time.Hour), noon, noon, "a"); len(p.Values[0]) != 1 {
		t.Errorf("an end before its beginning: %d values", len(p.Values[0]))
	}
}
