package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sluicelb/sluice/bench/arena"
	"github.com/sluicelb/sluice/bench/report"
)

// TestMain lets the test program run the roles that the bench starts.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 {
		if role, ok := roles[os.Args[1]]; ok {
			os.Exit(status(role(os.Args[2:])))
		}
	}
	os.Exit(m.Run())
}

// bench runs the bench with flags and returns its report and error.
func bench(t *testing.T, flags ...string) (*report.Report, error) {
	t.Helper()
	if testing.Short() {
		t.Skip("starts peers")
	}
	file := filepath.Join(t.TempDir(), "r.json")
	c, err := parse(append(flags, "-slice", "50ms", "-json", file), os.Stderr)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.lineup(); err != nil {
		t.Skip(err)
	}
	failed := measureAll(c, arena.Environment{Reason: "test"})
	r, err := report.Load(file)
	if err != nil {
		t.Fatal(failed, err)
	}
	return r, failed
}

func TestAWholeRunMeasuresAPeerAndCleansUp(t *testing.T) {
	tmp := t.TempDir()
	t.Setenv("TMPDIR", tmp)
	r, err := bench(t, "-peers", "haproxy", "-case", "^get128-c64|newconn", "-rounds", "2", "-restarts", "2")
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

// TestPeersRunEveryCaseBeyondPlainRequests runs both peers in each case that has TLS,
// HTTP/2 or a feature. No slice may have an error, and the load checks the kind of each
// handshake.
func TestPeersRunEveryCaseBeyondPlainRequests(t *testing.T) {
	if _, err := exec.LookPath("h2load"); err != nil {
		t.Skip("h2load is not installed: run bench/install.sh")
	}
	r, err := bench(t, "-peers", "haproxy,nginx", "-case", "^tls-[gfr]|^h2|^accesslog|^cookie", "-rounds", "1", "-restarts", "1")
	if err != nil {
		t.Error(err)
	}
	if len(r.Cases) < 10 {
		t.Errorf("only %d cases", len(r.Cases))
	}
	for _, one := range r.Cases {
		for _, row := range one.Summary.Rows {
			if row.Value.N != 1 || row.Value.Min <= 0 {
				t.Errorf("%s, %s: %v %v", one.Name, row.Contestant, row.Value, row.Reasons)
			}
		}
	}
}

func TestContestantWithoutTheFeatureIsNamed(t *testing.T) {
	r, err := bench(t, "-peers", "haproxy", "-exec", "other=/bin/true {port}", "-case", "^tls-get128", "-rounds", "1", "-restarts", "1")
	if err != nil {
		t.Errorf("the run ended with %v", err)
	}
	haproxy, other := r.Cases[0].Summary.Rows[0], r.Cases[0].Summary.Rows[1]
	if haproxy.Value.N != 1 || other.Value.N != 0 || len(other.Reasons) != 1 || !strings.Contains(other.Reasons[0], "cannot run this case") {
		t.Errorf("%+v\n%+v", haproxy, other)
	}
}

func TestRunFailsIfAContestantDoesNotStart(t *testing.T) {
	r, err := bench(t, "-peers", "haproxy", "-exec", "other=/bin/true {port}", "-case", "^get128-c64$", "-rounds", "1", "-restarts", "1")
	if err == nil || !strings.Contains(err.Error(), "get128-c64 other: did not start") {
		t.Errorf("the run ended with %v", err)
	}
	haproxy, other := r.Cases[0].Summary.Rows[0], r.Cases[0].Summary.Rows[1]
	if haproxy.Value.N != 1 || other.Value.N != 0 {
		t.Errorf("%+v\n%+v", haproxy, other)
	}
}
