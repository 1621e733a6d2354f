package report_test

import (
	"testing"

	"github.com/sluicelb/sluice/bench/cases"
	"github.com/sluicelb/sluice/bench/report"
)

func TestMedianOfOddAndEvenCounts(t *testing.T) {
	for _, c := range []struct {
		in   []float64
		want report.Spread
	}{
		{nil, report.Spread{}},
		{[]float64{3}, report.Spread{Median: 3, Min: 3, Max: 3, N: 1}},
		{[]float64{9, 1, 5}, report.Spread{Median: 5, Min: 1, Max: 9, N: 3}},
		{[]float64{4, 1, 2, 100}, report.Spread{Median: 3, Min: 1, Max: 100, N: 4}},
	} {
		if got := report.NewSpread(c.in); got != c.want {
			t.Errorf("%v: got %+v, want %+v", c.in, got, c.want)
		}
	}
}

// round is a round in which a and b had the given values; 0 makes the slice
// one that does not count.
func round(number int, foreign, a, b float64) report.Round {
	slice := func(name string, v float64) report.Slice {
		s := report.Slice{Contestant: name, Value: v, Requests: 1000, Seconds: 1}
		if v == 0 {
			s.Reason = "broken"
		}
		return s
	}
	return report.Round{Number: number, Foreign: foreign, Slices: []report.Slice{slice("a", a), slice("b", b)}}
}

func summarize(rounds ...report.Round) report.Summary {
	c := report.Case{Case: cases.Case{Kind: cases.Throughput, Unit: "request"}, Rounds: rounds}
	c.Summarize([]string{"a", "b"}, []string{"b"})
	return c.Summary
}

func TestRatiosAreTakenWithinRounds(t *testing.T) {
	// The machine is twice as slow in every second round. The ratio of the
	// medians would be 1.5; the truth, in every round, is 0.5.
	s := summarize(round(1, 0, 5, 10), round(2, 0, 10, 20), round(3, 0, 5, 10), round(4, 0, 10, 20), round(5, 0, 5, 10))
	if got := s.Rows[0].Ratios["b"]; got != (report.Spread{Median: 0.5, Min: 0.5, Max: 0.5, N: 5}) {
		t.Errorf("%+v", got)
	}
	if _, ok := s.Rows[1].Ratios["b"]; ok {
		t.Error("b is compared with itself")
	}
	if got := s.Rows[0].Extra["b"]; got.Median != -5 {
		t.Errorf("extra %+v", got)
	}
}

func TestLoadedRoundsAreDroppedWhenFiveCleanOnesRemain(t *testing.T) {
	clean := round(1, 0.1, 1, 2)
	loaded := round(2, 0.5, 9, 2)
	s := summarize(clean, clean, clean, clean, clean, loaded)
	if s.Used != 5 || s.Total != 6 || s.Contended || s.Rows[0].Value.Max != 1 {
		t.Errorf("%+v", s)
	}
	s = summarize(clean, clean, clean, clean, loaded)
	if s.Used != 5 || !s.Contended || s.Rows[0].Value.Max != 9 {
		t.Errorf("with four clean rounds: %+v", s)
	}
	if s = summarize(clean, clean); s.Contended {
		t.Error("two clean rounds of two are contended")
	}
}

func TestABrokenSliceTakesItsRatioAlong(t *testing.T) {
	s := summarize(round(1, 0, 1, 2), round(2, 0, 0, 2), round(3, 0, 1, 0))
	a := s.Rows[0]
	if a.Ratios["b"].N != 1 || a.Value.N != 2 || a.Invalid != 1 || len(a.Reasons) != 1 {
		t.Errorf("%+v", a)
	}
}

func TestVerdictNamesMissedTargetsAndMissingResults(t *testing.T) {
	at := func(name string, ours, theirs float64) report.Case {
		r := round(1, 0, ours, theirs)
		r.Slices[0].Contestant, r.Slices[1].Contestant = report.Subject, "haproxy"
		c := report.Case{
			Case:   cases.Case{Name: name, Kind: cases.Throughput, Unit: "request", Targets: map[string]float64{"haproxy": 0.85}},
			Rounds: []report.Round{r},
		}
		c.Summarize([]string{report.Subject, "haproxy"}, []string{"haproxy"})
		return c
	}
	r := report.Report{Cases: []report.Case{at("good", 8, 10), at("bad", 9, 10), at("gone", 0, 10)}}
	missed, unfinished := r.Verdict()
	if len(missed) != 1 || missed[0] != "bad" {
		t.Errorf("missed %v", missed)
	}
	if len(unfinished) != 1 || unfinished[0] != "gone sluice: broken" {
		t.Errorf("unfinished %v", unfinished)
	}
}

func TestVerdictNeedsNoResultWithoutTheFeature(t *testing.T) {
	r := round(1, 0, 8, 0)
	r.Slices[1].Unsupported = true
	c := report.Case{Case: cases.Case{Name: "udp", Kind: cases.Throughput}, Rounds: []report.Round{r}}
	c.Summarize([]string{"a", "b"}, []string{"b"})
	if _, unfinished := (&report.Report{Cases: []report.Case{c}}).Verdict(); len(unfinished) > 0 {
		t.Errorf("got %q, want none", unfinished)
	}
	c.Problem = "nobody started"
	if _, got := (&report.Report{Cases: []report.Case{c}}).Verdict(); len(got) != 1 || got[0] != "udp: nobody started" {
		t.Errorf("got %q, want the problem of the case", got)
	}
}
