package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestJudgeNamesThePattern(t *testing.T) {
	for sentence, want := range map[string]string{
		"What is healthy is returned.":                "starts with what/who",
		"What is healthy?":                            "",
		"It returns what is healthy.":                 "", // an object is no subject
		"A user leaves, and what is left is removed.": "free relative as subject",
		"The client is told to wait.":                 "told/said/asked",
		"The request is answered with 503.":           "is answered",
		"The log tells of it.":                        "tells of",
		"The table is there for clients.":             "is there for",
		"The list, of which one is used, is short.":   "of which",
		"Clients are those who wait.":                 "the one that",
		"The farm starts anew.":                       "anew",
		"It is not used without a key.":               "two negations",
		"Healthy backends are returned.":              "",
		strings.Repeat("word ", 32) + "end.":          long,
		strings.Repeat("word ", 31) + "end.":          "",
		strings.Repeat("word ", 40) + "goes on.":      "anew",
	} {
		if got := judge(sentence); got != want {
			t.Errorf("judge(%q) = %q, want %q", sentence, got, want)
		}
	}
}

func TestParagraphsLeaveOutCode(t *testing.T) {
	source := `// Package a is short. It ends
// here.
//
//	an example is left out
//
//go:build linux
package a

var x = 1 // a remark at the end of a line is left out
	// A comment inside. Two words.
`
	document := "# A heading is left out\nOne `what is this` sentence\nof two lines.\n\n- A list item here.\n```\nthe code is left out\n```\n| a table | is left out |\n"
	for _, c := range []struct {
		name, text string
		want       []paragraph
	}{
		{"a.go", source, []paragraph{{1, "Package a is short. It ends here."}, {10, "A comment inside. Two words."}}},
		{"a.md", document, []paragraph{{2, "One X sentence of two lines."}, {5, "A list item here."}}},
	} {
		if got := paragraphs(c.name, c.text); !slices.Equal(got, c.want) {
			t.Errorf("%s: got %v, want %v", c.name, got, c.want)
		}
	}
	want := []string{"A comment inside.", "Is it (really) so?"}
	if got := sentences("A comment inside. Two words. Is it (really)\n so? No."); !slices.Equal(got, want) {
		t.Errorf("sentences: got %q, want %q", got, want)
	}
}

func TestWorseComparesCountsAndShares(t *testing.T) {
	before := map[string]counts{"a": {sentences: 100, hits: 10, long: 2, names: 1, lines: 3, tests: 4}}
	for _, c := range []struct {
		name string
		now  counts
		dir  string
		want string
	}{
		{"the same", counts{100, 10, 2, 1, 3, 0}, "a", ""},
		{"fewer sentences, as many hits", counts{50, 10, 2, 1, 3, 0}, "a", ""},
		{"more hits, a lower share", counts{200, 11, 3, 1, 3, 0}, "a", ""},
		{"more hits", counts{101, 11, 2, 1, 3, 0}, "a", "11 of 101 sentences match"},
		{"more long ones", counts{100, 10, 3, 1, 3, 0}, "a", "3 of 100 sentences have more than 32 words"},
		{"more names", counts{100, 10, 2, 2, 3, 0}, "a", "2 doc comments"},
		{"more lines", counts{100, 10, 2, 1, 4, 0}, "a", "4 lines have more than 120"},
		{"as many tests", counts{100, 10, 2, 1, 3, 4}, "a", ""},
		{"more tests", counts{100, 10, 2, 1, 3, 5}, "a", "5 names of tests have no subject, 4 are allowed"},
		{"new and good", counts{100, 1, 3, 0, 0, 0}, "b", ""},
		{"new with hits", counts{100, 2, 3, 0, 0, 0}, "b", "2 of 100 sentences match"},
		{"new with a line", counts{100, 0, 0, 0, 1, 0}, "b", "1 lines have more"},
	} {
		got := worse(before, map[string]counts{c.dir: c.now})
		if c.want == "" && len(got) > 0 || c.want != "" && (len(got) != 1 || !strings.HasPrefix(got[0], c.dir+": "+c.want)) {
			t.Errorf("%s: got %q, want %q", c.name, got, c.want)
		}
	}
}

func TestCountsSurviveTheFile(t *testing.T) {
	want := map[string]counts{".": {1, 2, 3, 4, 5, 6}, "mgmt/api": {100, 20, 3, 0, 1, 0}}
	got, err := parseCounts(formatCounts(want))
	if err != nil || len(got) != 2 || got["."] != want["."] || got["mgmt/api"] != want["mgmt/api"] {
		t.Errorf("got %v, %v, want %v", got, err, want)
	}
	for _, line := range []string{"a 1 2", "a 1 2 3 4 x", "a 1 2 3 4 5 x", "a 1 2 3 4 5 6 7"} {
		if _, err := parseCounts(line + "\n"); err == nil || !strings.Contains(err.Error(), "line 1") {
			t.Errorf("%q: got %v, want an error of line 1", line, err)
		}
	}
}

func TestNamesOfTestsNeedASubject(t *testing.T) {
	names := []string{"TestWhat", "TestWhatIsLeft", "TestWhateverHappens", "TestWho", "TestWhoLeaves", "TestWhoseTurnItIs", "TestWhomItServes"}
	names = append(names, "TestWholeFile", "TestReloadKeepsConnections", "TestReadsWhatIsLeft", "testWho")
	var source strings.Builder
	for _, name := range names {
		source.WriteString("func " + name + "(t *testing.T) {}\n")
	}
	var c counts
	var got []string
	if err := c.add("a_test.go", source.String(), func(m match) { got = append(got, m.text) }); err != nil {
		t.Fatal(err)
	}
	if c.tests != 7 || !slices.Equal(got, names[:7]) {
		t.Errorf("got %d, %q, want %q", c.tests, got, names[:7])
	}
	if err := c.add("a.go", "package a\n\nfunc TestWho() {}\n", func(match) {}); err != nil || c.tests != 7 {
		t.Errorf("outside tests: got %d, %v, want no other name", c.tests-7, err)
	}
}

func TestDocCommentsBeginWithTheName(t *testing.T) {
	source := `package a

// Good returns 1.
func Good() {}

// It returns 2.
func Bad() {}

// A Type is short.
type Type struct{}

// Deprecated: use Good.
func Old() {}

func none() {}

// The things of a group.
type (
	// first is right.
	first int
	// this is wrong
	second int
)
`
	var c counts
	var at []int
	if err := c.add("a.go", source, func(m match) { at = append(at, m.line) }); err != nil {
		t.Fatal(err)
	}
	if c.names != 2 || !slices.Equal(at, []int{6, 21}) {
		t.Errorf("%d at %v, want 2 at [6 21]", c.names, at)
	}
	c = counts{}
	if err := c.add("a_test.go", source, func(match) {}); err != nil || c.names != 0 {
		t.Errorf("tests: got %d, %v, want 0", c.names, err)
	}
}

func TestWideLinesAreCounted(t *testing.T) {
	code := func(n int) string { return "var x = " + strings.Repeat("y", n-8) + "\n" }
	var c counts
	if err := c.add("a.go", "package a\n"+code(120)+code(121)+"var s = \""+strings.Repeat("y", 130)+"\"\n", func(match) {}); err != nil || c.lines != 1 {
		t.Errorf("%d lines, %v, want 1", c.lines, err)
	}
	if err := c.add("a.md", code(200), func(match) {}); err != nil || c.lines != 1 {
		t.Errorf("a document: %d lines, %v, want 1", c.lines, err)
	}
}

func TestSubjectsHaveAnAreaAndAVerb(t *testing.T) {
	for subject, want := range map[string]string{
		"l7/route: match host before path":                                     "",
		"cmd/cli, mgmt/api: add a flag":                                        "",
		".ci: run the tests twice":                                             "",
		"CHANGELOG: list connections":                                          "",
		"match host before path":                                               "the form is",
		"l7/route: the host is matched before the path":                        "begins with",
		"l7/route: hosts are matched before paths":                             "describes a state",
		"l7/route: " + strings.Repeat("x", 29) + " " + strings.Repeat("y", 30): "",
		"l7/route: " + strings.Repeat("x", 30) + " " + strings.Repeat("y", 30): "71 characters",
		"l7/route: answer clients that are told to wait":                       "told/said/asked",
	} {
		got := subjectFault(subject)
		if want == "" && got != "" || !strings.HasPrefix(got, want) {
			t.Errorf("%q: got %q, want %q", subject, got, want)
		}
	}
}

func TestDifferSeesCodeAndDirectives(t *testing.T) {
	const code = "package a\n\n// F does.\nfunc F() int { return 1 }\n"
	for name, c := range map[string]struct {
		after string
		same  bool
	}{
		"a comment":           {strings.Replace(code, "does", "returns 1", 1), true},
		"no comment":          {strings.Replace(code, "// F does.\n", "", 1), true},
		"a value":             {strings.Replace(code, "return 1", "return 2", 1), false},
		"a name":              {strings.Replace(code, "func F", "func G", 1), false},
		"more at the end":     {code + "var x int\n", false},
		"a line less":         {strings.Replace(code, "{ return 1 }", "{}", 1), false},
		"a directive":         {strings.Replace(code, "// F does.", "//go:noinline", 1), false},
		"output of a test":    {strings.Replace(code, "{ return 1 }", "{\n\treturn 1\n\t// Output: 1\n}", 1), false},
		"a block of comments": {strings.Replace(code, "// F does.", "/* F\nreturns */", 1), true},
	} {
		if got := differ([]byte(code), []byte(c.after)); (got == "") != c.same {
			t.Errorf("%s: got %q, want the same: %v", name, got, c.same)
		}
	}
}

// A repository of two commits, which change a comment and then code.
func TestTheCommandReadsCommits(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	git := func(args ...string) {
		t.Helper()
		if out, err := exec.Command("git", append([]string{"-c", "user.name=a", "-c", "user.email=a@example.org"}, args...)...).CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, out)
		}
	}
	commit := func(subject, name, text string) {
		t.Helper()
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		git("add", "-A")
		git("commit", "-qm", subject)
	}
	git("init", "-q")
	commit("all: begin", "a/b/c/x.go", "package x\n")
	commit("a/b: describe the package", "a/b/c/x.go", "// Package x is short.\npackage x\n")
	commit("What is new", "a/b/c/x.go", "// Package x is short.\npackage x\n\nvar y int\n")
	commit("README: greet the reader", "README.md", "What is new is good.\n")

	if got, err := onlyComments("HEAD~3..HEAD~2"); err != nil || len(got) != 0 {
		t.Errorf("a comment: %q, %v", got, err)
	}
	if got, err := onlyComments("HEAD~3..HEAD"); err != nil || len(got) != 1 || !strings.HasPrefix(got[0], "a/b/c/x.go: ") {
		t.Errorf("a variable: %q, %v", got, err)
	}
	if _, err := onlyComments("HEAD"); err == nil {
		t.Error("one commit is no range, and no error")
	}
	if got, err := subjects("HEAD~3..HEAD"); err != nil || len(got) != 1 || !strings.Contains(got[0], "What is new: ") {
		t.Errorf("subjects: %q, %v", got, err)
	}

	if _, err := compare(false); err == nil {
		t.Error("no counts to compare with, and no error")
	}
	if err := os.Mkdir(".ci", 0o755); err != nil {
		t.Fatal(err)
	}
	if _, err := compare(true); err != nil {
		t.Fatal(err)
	}
	if got, err := compare(false); err != nil || len(got) != 0 {
		t.Errorf("the counts as they are: %q, %v", got, err)
	}
	commit("a: add a comment", "a/b/z.go", "package b\n\n// What is new is good.\nvar z int\n")
	if got, err := compare(false); err != nil || len(got) != 2 || !strings.HasPrefix(got[0], "a/b: 1 of 2 sentences match") {
		t.Errorf("a worse folder: %q, %v", got, err)
	}
	all, err := measure("a", func(match) {})
	if err != nil || len(all) != 1 || all["a/b"].sentences != 2 {
		t.Errorf("below a folder: %v, %v", all, err)
	}
}
