package main

import (
	"os/exec"
	"regexp"
	"slices"
	"strings"
)

// failure is a failed test, or a part of one, and all it said.
type failure struct {
	key
	said string
}

// of reports whether the failure is the test's own or that of a part of it.
func (f failure) of(test key) bool {
	return f.pkg == test.pkg && (f.test == test.test || strings.HasPrefix(f.test, test.test+"/"))
}

const (
	// maxAgain is how many failed tests are run again: more are no accident.
	maxAgain = 3
	// timesAgain is how often each must pass then.
	timesAgain = "3"
)

// certain is what no second run takes back: a fault was seen, however rarely it
// shows.
var certain = regexp.MustCompile(`(?m)^\s*(WARNING: DATA RACE|testing: race detected|panic: |fatal error: |SIG[A-Z]+: )`)

// again runs the few tests that failed once more, each with nothing beside it. A
// machine with too little time for all tests at once fails those that wait for
// something to happen. A test that passes now is unsteady: the run says so and is
// not spoiled by it, because to run everything again would say less.
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

// wholeTests are the tests that failed or of which a part did, without those in
// which a fault was seen for certain.
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

// steadied moves the failures of a test to what is said and spoils nothing.
func (l *log) steadied(test key) {
	for _, f := range l.failures {
		if f.of(test) {
			l.unsteady = append(l.unsteady, f)
			l.failed--
		}
	}
	l.failures = slices.DeleteFunc(l.failures, func(f failure) bool { return f.of(test) })
}

// alone is go test for one test, with the flags of the whole run. Of a flag that
// is there twice the last counts.
func alone(test key, flags []string) *exec.Cmd {
	return goTest([]string{test.pkg}, append(slices.Clone(flags), "-count="+timesAgain, "-run=^"+regexp.QuoteMeta(test.test)+"$"))
}
