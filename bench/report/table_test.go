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

func TestTableShowsTheTargetBesideTheRatio(t *testing.T) {
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

func TestCompareMarksWhatIsBeyondTheRanges(t *testing.T) {
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
