package main

import (
	"os/exec"
	"strings"
	"testing"
)

// after returns the output of a log after a first run, in which second supplies the
// output of repeated tests, by package.
func after(t *testing.T, first string, second func(test key) string) (said string, well bool, ran int) {
	t.Helper()
	var out strings.Builder
	l := newLog(&out, []string{"m/a", "m/b"}, skipList{})
	l.alone = func(test key) *exec.Cmd {
		ran++
		cmd := exec.Command("sh", "-c", "cat; true")
		cmd.Stdin = strings.NewReader(second(test))
		return cmd
	}
	cmd := exec.Command("sh", "-c", "cat; exit 1")
	cmd.Stdin = strings.NewReader(first)
	well = l.run(cmd)
	return out.String(), well, ran
}

func whenAlone(parts ...string) func(key) string {
	return func(test key) string { return of(strings.TrimPrefix(test.pkg, "m/"), parts...) }
}

const (
	races  = `{"Action":"output","Package":"%[1]s","Test":"TestA","Output":"WARNING: DATA RACE\n"}` + "\n"
	panics = `{"Action":"output","Package":"%[1]s","Test":"TestA","Output":"panic: index out of range\n"}` + "\n"
	part   = `{"Action":"run","Package":"%[1]s","Test":"TestA/one"}` + "\n" +
		`{"Action":"output","Package":"%[1]s","Test":"TestA/one","Output":"    a_test.go:7: it was late\n"}` + "\n" +
		`{"Action":"fail","Package":"%[1]s","Test":"TestA/one","Elapsed":0}` + "\n"
)

func another(name string) string {
	return strings.ReplaceAll(runs+says+fails, "TestA", name)
}

func TestOnlyFewFailuresAreForgiven(t *testing.T) {
	passed := whenAlone(whole)
	for name, c := range map[string]struct {
		failed  []string // events of the tests of m/b in the first run
		second  func(key) string
		again   int
		closing string
	}{
		"one that passes alone":       {[]string{runs, says, fails}, passed, 1, "1 passed, 0 failed, 0 skipped"},
		"one whose part failed":       {[]string{runs, part, says, fails}, passed, 1, "1 passed, 0 failed, 0 skipped"},
		"one that fails again":        {[]string{runs, says, fails}, whenAlone(begins, runs, fails, failing, breaks), 1, "1 passed, 1 failed, 0 skipped"},
		"one that is skipped then":    {[]string{runs, says, fails}, whenAlone(begins, runs, skips, pass, okLine, ends), 1, "1 passed, 1 failed, 0 skipped"},
		"one that is not found again": {[]string{runs, says, fails}, whenAlone(begins, pass, none, ends), 1, "1 passed, 1 failed, 0 skipped"},
		"one that raced":              {[]string{runs, races, fails}, passed, 0, "1 passed, 1 failed, 0 skipped"},
		"one that panicked":           {[]string{runs, panics, fails}, passed, 0, "1 passed, 1 failed, 0 skipped"},
		"three":                       {[]string{another("TestA"), another("TestB"), another("TestC")}, passed, 3, "1 passed, 0 failed, 0 skipped"},
		"four":                        {[]string{another("TestA"), another("TestB"), another("TestC"), another("TestD")}, passed, 0, "1 passed, 4 failed, 0 skipped"},
		"one, and one did not end":    {[]string{another("TestA"), strings.ReplaceAll(runs, "TestA", "TestB")}, passed, 0, "1 passed, 2 failed, 0 skipped"},
	} {
		t.Run(name, func(t *testing.T) {
			first := of("a", whole) + of("b", append(append([]string{begins}, c.failed...), failing, breaks)...)
			said, well, again := after(t, first, c.second)
			if again != c.again || !strings.HasSuffix(said, "\n\n"+c.closing+"\n") || well != strings.Contains(c.closing, " 0 failed") {
				t.Errorf("%d ran again, want %d; all is well: %v; want at the end %q, it said:\n%s", again, c.again, well, c.closing, said)
			}
		})
	}
}

func TestUnsteadyTestsAreNamedWithTheirOutput(t *testing.T) {
	said, _, _ := after(t, of("a", whole)+of("b", begins, runs, part, says, fails, failing, breaks), whenAlone(whole))
	want := "\nUnsteady: failed beside other tests and passed alone. To be mended:\n" +
		"  m/b TestA/one\n    a_test.go:7: it was late\n  m/b TestA\n    a_test.go:1: it is cold\n\n"
	if !strings.Contains(said, want) || strings.Contains(said, "\nFailed, and") {
		t.Errorf("it said:\n%s", said)
	}
}

func TestFailedTestRunsAgainAlone(t *testing.T) {
	cmd := alone(key{"m/b", "TestA"}, []string{"-race", "-run", "TestA|TestB"})
	if got := strings.Join(cmd.Args, " "); got != "go test -json -count=1 -race -run TestA|TestB -count=3 -run=^TestA$ m/b" {
		t.Errorf("it is run by %q", got)
	}
	out, err := alone(key{".", "TestRaceDetectorIsDetected"}, []string{"-run", "TestX"}).Output()
	if n := strings.Count(string(out), `"Action":"pass","Package":"github.com/sluicelb/sluice/cmd/testlog","Test":"TestRaceDetectorIsDetected"`); err != nil || n != 3 {
		t.Errorf("%v: it passed %d times, want 3: %s", err, n, out)
	}
}
