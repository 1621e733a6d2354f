package main

import (
	"os/exec"
	"regexp"
	"slices"
	"strings"
)

// failure is a failed test or subtest with its output.
type failure struct {
	key
	said string
}

// of reports whether the failure belongs to the test or one of its subtests.
func (f failure) of(test key) bool {
	return f.pkg == test.pkg && (f.test == test.test || strings.HasPrefix(f.test, test.test+"/"))
}

const (
	// maxAgain is the maximum number of failed tests that are repeated. More failures are
	// no coincidence.
	maxAgain = 3
	// timesAgain is the number of passes that a repeated test needs.
	timesAgain = "3"
)

// certain matches output that proves a fault, however rare. Such a test is not repeated.
var certain = regexp.MustCompile(`(?m)^\s*(WARNING: DATA RACE|testing: race detected|panic: |fatal error: |SIG[A-Z]+: )`)

// again repeats the few tests that failed, each alone. On a machine without enough time
// for concurrent tests, tests that wait for events may fail. A test that passes now is
// reported as unsteady and does not fail the run, because a repetition of the whole run
// would show less.
func (l *log) again() {
	tests := l.wholeTests()
	if l.alone == nil || len(l.faults) > 0 || len(tests) > maxAgain {
		return
	}
	for _, test := range tests {
		l.print("\nagain, alone, %s times: %s %s\n", timesAgain, test.pkg, test.test)
		second := newLog(l.out, []string{test.pkg}, l.skips)
		if second.run(l.alone(test)) && second.passed > 0 {
			l.steadied(test)
		}
	}
}

// wholeTests returns the tests that failed or have a failed subtest, except those with a
// certain fault.
func (l *log) wholeTests() (tests []key) {
	for _, f := range l.failures {
		name, _, _ := strings.Cut(f.test, "/")
		if test := (key{f.pkg, name}); !slices.Contains(tests, test) && !l.certainly(test) {
			tests = append(tests, test)
		}
	}
	return tests
}

func (l *log) certainly(test key) bool {
	return slices.ContainsFunc(l.failures, func(f failure) bool { return f.of(test) && certain.MatchString(f.said) })
}

// steadied moves the failures of a test to unsteady, so that they do not fail the run.
func (l *log) steadied(test key) {
	for _, f := range l.failures {
		if f.of(test) {
			l.unsteady = append(l.unsteady, f)
			l.failed--
		}
	}
	l.failures = slices.DeleteFunc(l.failures, func(f failure) bool { return f.of(test) })
}

// alone returns the go test command for one test, with the flags of the whole run. The
// last of several equal flags counts.
func alone(test key, flags []string) *exec.Cmd {
	return goTest([]string{test.pkg}, append(slices.Clone(flags), "-count="+timesAgain, "-run=^"+regexp.QuoteMeta(test.test)+"$"))
}
