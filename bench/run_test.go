package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/sluicelb/sluice/bench/arena"
	"github.com/sluicelb/sluice/bench/report"
)

// TestMain lets the test program play the roles that the bench starts itself
// in.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 {
		if role, ok := roles[os.Args[1]]; ok {
			os.Exit(status(role(os.Args[2:])))
		}
	}
	os.Exit(m.Run())
}

func TestAWholeRunMeasuresAPeerAndCleansUp(t *testing.T) {
	if testing.Short() {
		t.Skip("starts HAProxy")
	}
	tmp := t.TempDir()
	t.Setenv("TMPDIR", tmp)
	file := filepath.Join(t.TempDir(), "r.json")
	c, err := parse([]string{
		"-peers", "haproxy", "-case", "get128-c64|newconn", "-rounds", "2", "-restarts", "2", "-slice", "50ms", "-json", file,
	}, os.Stderr)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.lineup(); err != nil {
		t.Skip(err)
	}
	if err := measureAll(c, arena.Place{Reason: "test"}); err != nil {
		t.Fatal(err)
	}
	r, err := report.Load(file)
	if err != nil {
		t.Fatal(err)
	}
	for _, one := range r.Cases {
		row := one.Summary.Rows[0]
		if row.Value.N != 2 || row.Value.Min <= 0 || row.Latency.P99 <= 0 || row.Memory.Median <= 0 || row.Invalid != 0 {
			t.Errorf("%s: %+v", one.Name, row)
		}
	}
	left, err := filepath.Glob(filepath.Join(tmp, "*"))
	if err != nil || len(left) != 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}
