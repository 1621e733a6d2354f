package report_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/sluicelb/sluice/bench/cases"
	"github.com/sluicelb/sluice/bench/report"
)

func sample(ours float64) report.Report {
	r := round(1, 0, ours, 10)
	r.Slices[0].Contestant, r.Slices[1].Contestant = report.Subject, "haproxy"
	c := report.Case{
		Case: cases.Case{
			Name: "get", Title: "GET", Kind: cases.Throughput, Unit: "request",
			Targets: map[string]float64{"haproxy": 0.85},
		},
		Rounds: []report.Round{r},
	}
	c.Summarize([]string{report.Subject, "haproxy"}, []string{"haproxy"})
	return report.Report{Schema: report.Schema, Cases: []report.Case{c}}
}

func TestTableShowsTargetAndRatio(t *testing.T) {
	for ours, want := range map[float64]string{8: "0.80  [0.80–0.80]  ≤ 0.85 ok", 9: "0.90  [0.90–0.90]  ≤ 0.85 OVER", 8.51: "≤ 0.85 OVER (0.8510)"} {
		r := sample(ours)
		var b strings.Builder
		if err := r.Cases[0].Table(&b, []string{"haproxy"}); err != nil {
			t.Fatal(err)
		}
		if got := b.String(); !strings.Contains(got, want) {
			t.Errorf("%q is not in\n%s", want, got)
		}
	}
}

func TestTableSeparatesUserKernelAndCalls(t *testing.T) {
	r := sample(8)
	for n := range 6 {
		one := sample(8).Cases[0].Rounds[0]
		one.Slices[0].User, one.Slices[0].System = 0.002, 0.006
		if n == 5 { // calls are counted, whatever else was busy
			one.Foreign, one.Slices[0].Calls = 5, 4.25
		}
		r.Cases[0].Rounds = append(r.Cases[0].Rounds[:n:n], one)
	}
	r.Cases[0].Summarize([]string{report.Subject, "haproxy"}, []string{"haproxy"})
	var b strings.Builder
	if err := r.Cases[0].Table(&b, []string{"haproxy"}); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(b.String(), "\n")
	for i, want := range map[int][]string{3: {"user µs", "kernel µs", "calls"}, 4: {"2.00", "6.00", "4.2"}, 5: {"0.00", "0.00", "-"}} {
		if got := strings.Join(strings.Fields(lines[i]), " "); !strings.Contains(got, strings.Join(want, " ")) {
			t.Errorf("%q is not in %q", want, got)
		}
	}
}

func TestLikeCasesAreBoundToTheRatioOfTheSameRun(t *testing.T) {
	one := sample(8).Cases[0]
	one.Rounds[0].Slices = append(one.Rounds[0].Slices, report.Slice{Contestant: "vs", Value: 5, Requests: 1000, Seconds: 1})
	one.Summarize([]string{report.Subject, "haproxy", "vs"}, []string{"haproxy"})
	for ours, over := range map[float64]bool{8.2: false, 8.4: true} {
		r := sample(ours)
		c := &r.Cases[0]
		c.Name, c.Like, c.Targets = "default-get", "get", nil
		var b strings.Builder
		if c.Follow(nil); len(c.Targets) > 0 {
			t.Errorf("without the other case: %v", c.Targets)
		}
		if err := c.Table(&b, []string{"haproxy"}); err != nil || !strings.Contains(b.String(), "the target is the ratio of get in the same run and 0.03") {
			t.Errorf("%v\n%s", err, b.String())
		}
		c.Follow([]report.Case{{Case: cases.Case{Name: "other"}}, one})
		b.Reset()
		if err := c.Table(&b, []string{"haproxy"}); err != nil || !strings.Contains(b.String(), "≤ 0.83") || strings.Contains(b.String(), "in the same run") {
			t.Errorf("%v\n%s", err, b.String())
		}
		if missed, _ := r.Verdict(); (len(missed) > 0) != over {
			t.Errorf("%g: missed %v", ours, missed)
		}
	}
}

func TestReportsSurviveTheFile(t *testing.T) {
	r := sample(8)
	path := filepath.Join(t.TempDir(), "deep", "r.json")
	if err := r.Save(path); err != nil {
		t.Fatal(err)
	}
	back, err := report.Load(path)
	if err != nil {
		t.Fatal(err)
	}
	if got := back.Cases[0].Summary.Rows[0].Ratios["haproxy"].Median; got != 0.8 {
		t.Errorf("ratio %g", got)
	}
	r.Schema = "sluice-bench/0"
	if err := r.Save(path); err != nil {
		t.Fatal(err)
	}
	if _, err := report.Load(path); err == nil {
		t.Error("another schema was accepted")
	}
}

func TestCompareMarksDifferencesBeyondTheRanges(t *testing.T) {
	a, b := sample(8), sample(9)
	var out strings.Builder
	if err := report.Compare(&out, &a, &b); err != nil {
		t.Fatal(err)
	}
	got := out.String()
	if !strings.Contains(got, "+12.5 %") || strings.Count(got, "beyond the ranges") != 2 {
		t.Errorf("\n%s", got)
	}
}
