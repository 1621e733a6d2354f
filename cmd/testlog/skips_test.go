package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const example = `
# user    run    package       test          reason
ordinary  any    *             *             needs root
root      race   cmd/e2e       TestKernel*   not under the race detector
any       plain  sysnet/*      TestA/one     no such address
`

func TestSkipsAreAllowedForTheirUserRunAndReason(t *testing.T) {
	file := filepath.Join(t.TempDir(), "skips")
	if err := os.WriteFile(file, []byte(example), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		user, run, pkg, test, reason string
		want                         bool
	}{
		{"ordinary", "plain", "m/cmd/e2e", "TestX/y", "x_test.go:3: needs root: a network", true},
		{"root", "plain", "m/cmd/e2e", "TestX/y", "x_test.go:3: needs root: a network", false},
		{"ordinary", "race", "m/cmd/e2e", "TestX", "x_test.go:3: nginx is not installed", false},
		{"root", "race", "m/cmd/e2e", "TestKernelX", "not under the race detector: memory", true},
		{"root", "plain", "m/cmd/e2e", "TestKernelX", "not under the race detector: memory", false},
		{"root", "race", "m/cmd/e2e", "TestOther", "not under the race detector: memory", false},
		{"root", "race", "m/cmd/e2e/more", "TestKernelX", "not under the race detector: memory", false},
		{"root", "plain", "m/sysnet/nft", "TestA/one", "no such address", true},
		{"root", "plain", "m/sysnet/nft", "TestA/two", "no such address", false},
		{"root", "plain", "m/sysnet/nft", "TestA/one", "no reason given", false},
	} {
		list, err := readSkips(file, circumstances{c.user, c.run})
		if err != nil {
			t.Fatal(err)
		}
		list.module = "m"
		if got := list.allows(key{c.pkg, c.test}, c.reason); got != c.want {
			t.Errorf("%+v: got %v, want %v", c, got, c.want)
		}
	}
}

func TestAnAllowedSkipIsShownAndPasses(t *testing.T) {
	list := skipList{module: "m", at: circumstances{"root", "plain"}, all: []skip{{"any", "any", "b", "TestA", "it is cold"}}}
	said, well := runLog(t, list, of("a", whole)+of("b", begins, runs, says, skips, pass, okLine, ends), "")
	if !well || !strings.Contains(said, "m/b TestA: a_test.go:1: it is cold\n") || !strings.HasSuffix(said, "\n1 passed, 0 failed, 1 skipped\n") {
		t.Errorf("all is well: %v, it said:\n%s", well, said)
	}
}

func TestTheReasonOfASkipIsOnOneLine(t *testing.T) {
	for said, want := range map[string]string{
		"=== RUN   TestA\n    a_test.go:1: needs\n\n        root\n--- SKIP: TestA (0.00s)\n": "a_test.go:1: needs root",
		"=== RUN   TestA\n--- SKIP: TestA (0.00s)\n":                                         "no reason given",
	} {
		if got := reason(said); got != want {
			t.Errorf("%q says %q, want %q", said, got, want)
		}
	}
}

func TestInvalidSkipListIsRefused(t *testing.T) {
	for _, line := range []string{"root any * *", "nobody any * * because", "root fast * * because", "root any [ * because"} {
		file := filepath.Join(t.TempDir(), "skips")
		if err := os.WriteFile(file, []byte("# first\n"+line+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := readSkips(file, circumstances{}); err == nil || !strings.Contains(err.Error(), "skips:2: ") {
			t.Errorf("%q: %v", line, err)
		}
	}
	if _, err := readSkips("/nowhere/skips", circumstances{}); err == nil {
		t.Error("a list that is not there allows nothing")
	}
}

func TestRaceDetectorIsDetected(t *testing.T) {
	if got := here([]string{"-race", "-parallel", "2"}).run; got != "race" {
		t.Error(got)
	}
	if got := here(nil).run; got != "plain" {
		t.Error(got)
	}
}
