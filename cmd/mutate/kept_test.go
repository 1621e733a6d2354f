package main

import (
	"io"
	"os"
	"strings"
	"testing"
)

// A resumed run retries only faults whose verdict may change: survivors after a change of
// a test, and all faults of a changed file.
func TestRunsResumeFromKeptResults(t *testing.T) {
	t.Chdir(t.TempDir())
	write := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	ask := func(what string) string {
		return "package p\nimport \"testing\"\nfunc TestP(t *testing.T) { if " + what + "() != 3 { t.Fail() } }\n"
	}
	const code = "package p\nfunc Most() int { return 3 }\nfunc Best() int { return 3 }\n"
	write("go.mod", "module p\n\ngo 1.26\n")
	write("p.go", code)
	write("p_test.go", ask("Most"))
	o := options{patterns: []string{"."}, seed: 1, resume: "verdicts"}
	lines := 0
	expect := func(when string, report string, tries int) {
		t.Helper()
		got := tried(t, o)
		text, _ := os.ReadFile(o.resume)
		now := strings.Count(string(text), "\n")
		if !strings.Contains(got, report+" faults noticed") || now-lines != tries {
			t.Errorf("%s: %d tried, want %d, and %s\n%s%s", when, now-lines, tries, report, got, text)
		}
		lines = now
	}
	o.number = 1
	tried(t, o)
	o.number, lines = 0, 1
	expect("the rest", "1 of 2", 1)
	expect("nothing new", "1 of 2", 0)
	write("p_test.go", ask("Best"))
	o.skip = "TestP"
	expect("without the test", "1 of 2", 0)
	o.skip = ""
	expect("another test", "2 of 2", 1)
	write("p.go", code+"// More.\n")
	expect("another file", "1 of 2", 2)

	write("verdicts", "noticed 12 p.go:2\nlost 12 p.go:3\n")
	if err := mutate(t.Context(), o, io.Discard, io.Discard); err == nil || !strings.Contains(err.Error(), `verdicts:2: not a verdict: "lost 12 p.go:3"`) {
		t.Error(err)
	}
}
