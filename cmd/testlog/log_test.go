package main

import (
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"
)

// Streams in the format of go 1.26 without times; %s stands for the package.
const (
	begins  = `{"Action":"start","Package":"%[1]s"}` + "\n"
	runs    = `{"Action":"run","Package":"%[1]s","Test":"TestA"}` + "\n"
	says    = `{"Action":"output","Package":"%[1]s","Test":"TestA","Output":"    a_test.go:1: it is cold\n"}` + "\n"
	passes  = `{"Action":"pass","Package":"%[1]s","Test":"TestA","Elapsed":0}` + "\n"
	fails   = `{"Action":"fail","Package":"%[1]s","Test":"TestA","Elapsed":0}` + "\n"
	skips   = `{"Action":"skip","Package":"%[1]s","Test":"TestA","Elapsed":0}` + "\n"
	killed  = `{"Action":"output","Package":"%[1]s","Test":"TestA","Output":"signal: killed\n"}` + "\n"
	pass    = `{"Action":"output","Package":"%[1]s","Output":"PASS\n"}` + "\n"
	okLine  = `{"Action":"output","Package":"%[1]s","Output":"ok  \t%[1]s\t0.002s\n"}` + "\n"
	failing = `{"Action":"output","Package":"%[1]s","Output":"FAIL\n"}` + "\n"
	none    = `{"Action":"output","Package":"%[1]s","Output":"ok  \t%[1]s\t0.005s [no tests to run]\n"}` + "\n"
	noTests = `{"Action":"output","Package":"%[1]s","Output":"?   \t%[1]s\t[no test files]\n"}` + "\n" + `{"Action":"skip","Package":"%[1]s","Elapsed":0}` + "\n"
	ends    = `{"Action":"pass","Package":"%[1]s","Elapsed":0.002}` + "\n"
	breaks  = `{"Action":"fail","Package":"%[1]s","Elapsed":0.002}` + "\n"
	unbuilt = `{"ImportPath":"%[1]s [%[1]s.test]","Action":"build-output","Output":"a_test.go:2:15: undefined: x\n"}` + "\n" +
		`{"ImportPath":"%[1]s [%[1]s.test]","Action":"build-fail"}` + "\n" + begins +
		`{"Action":"output","Package":"%[1]s","Output":"FAIL\t%[1]s [build failed]\n"}` + "\n" +
		`{"Action":"fail","Package":"%[1]s","Elapsed":0,"FailedBuild":"%[1]s [%[1]s.test]"}` + "\n"

	whole = begins + runs + passes + pass + okLine + ends
)

// of returns a stream of the package m/NAME.
func of(name string, parts ...string) string {
	return fmt.Sprintf(strings.Join(parts, ""), "m/"+name)
}

// runLog returns the output and result of a log that expects m/a and m/b, for the output
// of a command.
func runLog(t *testing.T, list skipList, stream, command string) (said string, well bool) {
	t.Helper()
	var out strings.Builder
	l := newLog(&out, []string{"m/a", "m/b"}, list)
	cmd := exec.Command("sh", "-c", "cat; "+command)
	cmd.Stdin = strings.NewReader(stream)
	well = l.run(cmd)
	return out.String(), well
}

func TestOnlyACompleteRunPasses(t *testing.T) {
	good := of("a", whole)
	for name, c := range map[string]struct {
		stream, command string
		says            string
		closing         string
	}{
		"all passed":                {good + of("b", whole), "", "ok  \tm/b", "2 passed, 0 failed, 0 skipped"},
		"a package without tests":   {good + of("b", begins, noTests), "", "", "1 passed, 0 failed, 0 skipped"},
		"a test failed":             {good + of("b", begins, runs, says, fails, failing, breaks), "exit 1", "it is cold", "1 passed, 1 failed, 0 skipped"},
		"go test killed":            {good + of("b", begins, runs), "kill -9 $$", "go test ended with signal: killed", "1 passed, 3 failed, 0 skipped"},
		"killed between packages":   {good, "kill -9 $$", "m/b: no end of it was seen", "1 passed, 2 failed, 0 skipped"},
		"killed after a failure":    {of("a", begins, runs, fails, failing, breaks) + of("b", whole), "kill -9 $$", "go test ended with signal: killed", "1 passed, 2 failed, 0 skipped"},
		"its status alone is bad":   {good + of("b", whole), "exit 1", "go test ended with exit status 1", "2 passed, 1 failed, 0 skipped"},
		"nothing at all":            {"", "", "m/a: no end of it was seen", "0 passed, 2 failed, 0 skipped"},
		"a package is missing":      {good, "", "m/b: no end of it was seen", "1 passed, 1 failed, 0 skipped"},
		"a package does not end":    {good + of("b", begins, runs, passes, pass, okLine), "", "m/b: no end of it was seen", "2 passed, 1 failed, 0 skipped"},
		"a test does not end":       {good + of("b", begins, runs, says, pass, okLine, ends), "", "m/b TestA: began and did not end", "1 passed, 1 failed, 0 skipped"},
		"its words are shown":       {good + of("b", begins, runs, says, pass, okLine, ends), "", "it is cold", "1 passed, 1 failed, 0 skipped"},
		"a test binary was killed":  {good + of("b", begins, runs, killed, breaks), "exit 1", "m/b TestA: began and did not end", "1 passed, 1 failed, 0 skipped"},
		"it died between tests":     {good + of("b", begins, runs, passes, breaks), "exit 1", "m/b: failed as a whole", "2 passed, 1 failed, 0 skipped"},
		"it left without a verdict": {good + of("b", begins, runs, passes, okLine, ends), "", "m/b: its tests ended without a verdict", "2 passed, 1 failed, 0 skipped"},
		"it ran no test":            {good + of("b", begins, pass, none, ends), "", "m/b: has tests and ran none", "1 passed, 1 failed, 0 skipped"},
		"a build failed":            {good + of("b", unbuilt), "exit 1", "undefined: x", "1 passed, 1 failed, 0 skipped"},
		"all packages have no test": {of("a", begins, noTests) + of("b", begins, noTests), "", "nothing was tested", "0 passed, 1 failed, 0 skipped"},
		"a skip":                    {good + of("b", begins, runs, says, skips, pass, okLine, ends), "", "m/b TestA: skipped, and nothing may be: a_test.go:1: it is cold", "1 passed, 1 failed, 1 skipped"},
		"words of go itself":        {"go: something\n" + good + of("b", whole), "", "go: something\n", "2 passed, 0 failed, 0 skipped"},
	} {
		t.Run(name, func(t *testing.T) {
			said, well := runLog(t, skipList{}, c.stream, c.command)
			if !strings.HasSuffix(said, "\n\n"+c.closing+"\n") || !strings.Contains(said, c.says) {
				t.Errorf("want %q and at the end %q, it said:\n%s", c.says, c.closing, said)
			}
			if want := strings.Contains(c.closing, " 0 failed"); well != want {
				t.Errorf("all is well: %v, want %v", well, want)
			}
		})
	}
}

// The end of the output must show why tests failed, because readers look there.
func TestFindingsOfFailedTestsStandAtTheEnd(t *testing.T) {
	said := "=== RUN   TestA\n    a_test.go:1: first\n        b_test.go:22: log msg=3\n time=1 level=INFO x_test.go\n--- FAIL: TestA (0.00s)\n"
	if got := findings(said); !slices.Equal(got, []string{"  a_test.go:1: first", "  b_test.go:22: log msg=3"}) {
		t.Errorf("found %q", got)
	}
	if got := findings(strings.Repeat("    a_test.go:1: early\n", 5) + strings.Repeat("    a_test.go:2: late\n", maxFindings)); len(got) != maxFindings || got[0] != "  a_test.go:2: late" {
		t.Errorf("found %q", got)
	}
	all, well := runLog(t, skipList{}, of("a", whole)+of("b", begins, runs, says, fails, failing, breaks), "exit 1")
	if _, end, _ := strings.Cut(all, "\nFailed, and what these tests said themselves:\n"); well || !strings.HasPrefix(end, "  m/b TestA\n    a_test.go:1: it is cold\n\n") {
		t.Errorf("all is well: %v, it said:\n%s", well, all)
	}
}

func TestOverlongLineFails(t *testing.T) {
	said, well := runLog(t, skipList{}, of("a", whole)+of("b", whole)+strings.Repeat("x", 17<<20), "")
	if well || !strings.Contains(said, "cannot be read") {
		t.Errorf("all is well: %v, it said:\n%s", well, said)
	}
}

func TestMissingCommandFails(t *testing.T) {
	var out strings.Builder
	if newLog(&out, nil, skipList{}).run(exec.Command("/nowhere/go")) || !strings.Contains(out.String(), "not started") {
		t.Errorf("it said:\n%s", &out)
	}
}

// A cached result says nothing about the programs, scripts and privileges that a test
// uses now.
func TestResultsAreNotCached(t *testing.T) {
	for range 2 {
		out, err := goTest([]string{"."}, []string{"-run=TestRaceDetectorIsDetected"}).Output()
		if err != nil || strings.Contains(string(out), "(cached)") || !strings.Contains(string(out), `"Action":"pass"`) {
			t.Errorf("%v: %s", err, out)
		}
	}
}

func TestChosenTestsLeavePackagesWithoutAny(t *testing.T) {
	l, err := prepare(new(strings.Builder), "", []string{"."}, []string{"-run=TestX"})
	if err != nil || !l.chosen || len(l.packages) != 1 || l.skips.module == "" {
		t.Fatalf("%+v, %v", l, err)
	}
	if l, err = prepare(new(strings.Builder), "", []string{"."}, []string{"-race"}); err != nil || l.chosen {
		t.Fatalf("%+v, %v", l, err)
	}
	if _, err = prepare(new(strings.Builder), "", []string{"./nowhere"}, nil); err == nil {
		t.Error("a package that is not there is expected by nobody")
	}
}

func TestLongRunsShowTheirPendingTests(t *testing.T) {
	var out strings.Builder
	l := newLog(&out, []string{"m/a", "m/b"}, skipList{})
	l.take(event{Action: "run", Package: "m/a", Test: "TestA"})
	l.progress(l.spoke.Add(progressEvery / 2))
	if out.Len() > 0 {
		t.Errorf("too soon: %s", &out)
	}
	l.progress(l.spoke.Add(progressEvery + time.Second))
	if want := "... 0 of 2 packages, 0 passed, 0 failed, 0 skipped so far; m/a TestA runs for 31s\n"; out.String() != want {
		t.Errorf("%q, want %q", &out, want)
	}
	out.Reset()
	now := l.spoke.Add(progressEvery)
	l.packages["m/b"].ended, l.passed, l.failed, l.skipped = true, 4, 3, 2
	l.faults = []string{"one"}
	l.running = map[key]time.Time{{"m/a", "TestNew"}: now.Add(-time.Second), {"m/a", "TestOld"}: now.Add(-time.Minute), {"m/a", "TestB"}: now.Add(-2 * time.Second)}
	l.progress(now.Add(-time.Nanosecond)) // the output above counts
	l.progress(now)
	if want := "... 1 of 2 packages, 4 passed, 4 failed, 2 skipped so far; m/a TestOld runs for 1m0s\n"; out.String() != want {
		t.Errorf("%q, want %q", &out, want)
	}
	out.Reset()
	l.running = nil
	l.progress(l.spoke.Add(progressEvery))
	if want := "... 1 of 2 packages, 4 passed, 4 failed, 2 skipped so far\n"; out.String() != want {
		t.Errorf("%q, want %q", &out, want)
	}
}
