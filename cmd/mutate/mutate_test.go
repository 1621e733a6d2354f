package main

import (
	"bytes"
	"io"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

const tiny = "testdata/tiny/tiny.go"

// tried runs mutate and returns its report.
func tried(t *testing.T, o options) string {
	t.Helper()
	var report bytes.Buffer
	if err := mutate(t.Context(), o, &report, io.Discard); err != nil {
		t.Fatal(err)
	}
	return report.String()
}

// The tests of tiny hang with some faults, do not compile with one, and detect all others
// except on the marked lines.
func TestReportNamesExactlyTheSurvivors(t *testing.T) {
	before, err := os.ReadFile(tiny)
	if err != nil {
		t.Fatal(err)
	}
	report := tried(t, options{patterns: []string{"./testdata/tiny"}, floor: 3 * time.Second, side: 2})
	var want, got []string
	for i, line := range strings.Split(string(before), "\n") {
		if strings.Contains(line, "// survives") {
			want = append(want, strconv.Itoa(i+1))
		}
	}
	for _, found := range regexp.MustCompile(`(?m)^cmd/mutate/`+tiny+`:(\d+):`).FindAllStringSubmatch(report, -1) {
		got = append(got, found[1])
	}
	if got := slices.Compact(got); !slices.Equal(got, want) {
		t.Errorf("survived on lines %v, want %v\n%s", got, want, report)
	}
	for _, line := range []string{
		"\t- if n > int(top) { // survives: nobody puts exactly that much\n\t+ if n >= int(top) {",
		"21 of 26 faults noticed, 80.8 %; seed ", // the 27th does not compile
		"2/2 100%  2/3 67%\n",
	} {
		if !strings.Contains(report, line) {
			t.Errorf("missing in the report: %q\n%s", line, report)
		}
	}
	if after, err := os.ReadFile(tiny); err != nil || !bytes.Equal(after, before) {
		t.Errorf("the tree was changed: %v", err)
	}
}

func TestSampleFollowsTheSeed(t *testing.T) {
	packages, err := load([]string{"./testdata/tiny"})
	if err != nil {
		t.Fatal(err)
	}
	sample := func(o options) (all []string) {
		for _, f := range choose(packages, o) {
			all = append(all, f.String())
		}
		return all
	}
	one := sample(options{seed: 1})
	if !slices.Equal(one, sample(options{seed: 1})) {
		t.Error("one seed gave two orders")
	}
	if slices.Equal(one, sample(options{seed: 2})) {
		t.Error("two seeds gave one order")
	}
	if got := sample(options{classes: []string{deferred, argument}}); len(got) != 2 {
		t.Errorf("of two classes: %v", got)
	}
	here := "cmd/mutate/" + tiny
	if got := sample(options{at: []string{here + ":65"}}); len(got) != 1 {
		t.Errorf("at one place: %v", got)
	}
	if got := sample(options{at: []string{here + ":65", here + ":1"}}); len(got) != 1 {
		t.Errorf("at two places, of which one has no fault: %v", got)
	}
	if got := sample(options{at: []string{here}}); len(got) != len(one) {
		t.Errorf("in the only file: %d of %d", len(got), len(one))
	}
	report := tried(t, options{patterns: []string{"./testdata/tiny"}, number: 1, seed: 7, classes: []string{argument}})
	if !strings.Contains(report, "1 of 1 faults noticed, 100.0 %; seed 7") {
		t.Error(report)
	}
}

func TestPackageWithoutTestsDetectsNoFault(t *testing.T) {
	report := tried(t, options{patterns: []string{"./testdata/untested"}})
	if !strings.Contains(report, "(this package has no tests)") || !strings.Contains(report, "0 of 1 faults noticed") {
		t.Error(report)
	}
}

func TestParentFolderTestsCatchSurvivors(t *testing.T) {
	report := tried(t, options{patterns: []string{"./testdata/tiny/inner"}})
	if !strings.Contains(report, "1 of 1 faults noticed") {
		t.Error(report)
	}
	report = tried(t, options{patterns: []string{"./testdata/tiny/half"}})
	if !strings.Contains(report, "3 of 4 faults noticed") || !strings.Contains(report, "return 5") || strings.Contains(report, "return 3") {
		t.Errorf("faults that the package's own tests do not detect:\n%s", report)
	}
}

func TestSampleIsListedAndTriedInParts(t *testing.T) {
	for only, want := range map[string]int{"": 32, "cmd/mutate/testdata/tiny/inner": 1, "cmd/mutate/testdata/tiny": 27} {
		o := options{patterns: []string{"./testdata/tiny/..."}, number: 32, seed: 1, list: true}
		if only != "" {
			o.only = []string{only}
		}
		var out bytes.Buffer
		err := mutate(t.Context(), o, &out, io.Discard)
		if n := strings.Count(out.String(), "testdata/tiny"); err != nil || n != want {
			t.Errorf("%q: %d faults, %v\n%s", only, n, err, out.String())
		}
		o.number = 2
		out.Reset()
		if err := mutate(t.Context(), o, &out, io.Discard); only == "" && (err != nil || strings.Count(out.String(), "testdata/tiny") != 2) {
			t.Errorf("two faults: %v\n%s", err, out.String())
		}
	}
	o := options{patterns: []string{"./testdata/tiny/..."}, number: 28, seed: 1, only: []string{"cmd/mutate/testdata/tiny/inner"}}
	if report := tried(t, o); !strings.Contains(report, "1 of 1 faults noticed") {
		t.Error(report)
	}
}

func TestFailingTestsEndTheRun(t *testing.T) {
	err := mutate(t.Context(), options{patterns: []string{"./testdata/broken"}}, io.Discard, io.Discard)
	if err == nil || !strings.Contains(err.Error(), "it is not three") {
		t.Errorf("no word of the test that failed: %v", err)
	}
}

func TestUnknownClassIsRefused(t *testing.T) {
	err := mutate(t.Context(), options{patterns: []string{"./testdata/tiny"}, classes: []string{"bounds"}}, io.Discard, io.Discard)
	if err == nil || !strings.Contains(err.Error(), `no class "bounds"; there are condition, bound,`) {
		t.Error(err)
	}
}

// The tests were measured on an idle machine.
func TestTimeoutUnderLoadIsNotADetection(t *testing.T) {
	o := options{patterns: []string{"./testdata/tiny"}, at: []string{"cmd/mutate/" + tiny + ":25"}, floor: 3 * time.Second}
	packages, err := load(o.patterns)
	if err != nil {
		t.Fatal(err)
	}
	r, err := newRunner(o, 1, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	defer r.close()
	b := &base{}
	b.once.Do(func() { b.limit.Store(int64(-5 * time.Second)) }) // times out at once
	r.bases[packages[0].tests[0]] = b
	all, err := r.run(t.Context(), choose(packages, o))
	if err != nil || len(all) != 1 || all[0].verdict != survived {
		t.Errorf("%+v, %v", all, err)
	}
}
