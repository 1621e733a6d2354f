package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os/exec"
	"slices"
	"strings"
	"time"
)

// event is one line of `go test -json` (go doc test2json).
type event struct {
	Action, Package, Test, Output string
	Elapsed                       float64 // seconds, without the wait of a parallel test for its turn
}

type key struct{ pkg, test string }

// state is the progress of a package.
type state struct {
	ended   bool
	verdict bool // the test binary ended with PASS or FAIL
	empty   bool // it had no tests to run
	failed  int  // number of failed tests
}

type log struct {
	out      io.Writer
	skips    skipList
	chosen   bool // -run or -skip selects tests
	packages map[string]*state
	running  map[key]time.Time // start times
	said     map[key]*strings.Builder

	passed, failed, skipped int
	skippedTests            []string
	long                    []timed // slow tests
	failures                []failure
	unsteady                []failure
	faults                  []string
	alone                   func(test key) *exec.Cmd // returns the command that repeats a failed test; nil: no repetition
	spoke                   time.Time                // time of the last output
}

// newLog returns a log that expects a result of each package.
func newLog(out io.Writer, expected []string, skips skipList) *log {
	l := &log{out: out, skips: skips, packages: map[string]*state{}, running: map[key]time.Time{}, said: map[key]*strings.Builder{}, spoke: time.Now()}
	for _, name := range expected {
		l.packages[name] = &state{}
	}
	return l
}

// progressEvery is the time without output after which the log prints its progress.
const progressEvery = 30 * time.Second

// read handles events until the end of the stream.
func (l *log) read(events io.Reader) error {
	lines := make(chan []byte)
	ended := make(chan error, 1)
	go func() {
		defer close(lines)
		in := bufio.NewScanner(events)
		in.Buffer(nil, 16<<20)
		for in.Scan() {
			lines <- slices.Clone(in.Bytes())
		}
		ended <- in.Err()
		_, _ = io.Copy(io.Discard, events) // keep the writer from blocking
	}()
	tick := time.NewTicker(progressEvery / 10)
	defer tick.Stop()
	for {
		select {
		case line, more := <-lines:
			if !more {
				return <-ended
			}
			var e event
			if json.Unmarshal(line, &e) != nil {
				l.print("%s\n", line) // a message of go, not from test2json
				continue
			}
			l.take(e)
		case now := <-tick.C:
			l.progress(now)
		}
	}
}

func (l *log) print(format string, args ...any) {
	l.spoke = time.Now()
	fmt.Fprintf(l.out, format, args...)
}

// fault records a problem, other than a failed test, that fails the run.
func (l *log) fault(format string, args ...any) {
	l.faults = append(l.faults, fmt.Sprintf(format, args...))
}

// wrong returns the number of problems that fail the run.
func (l *log) wrong() int { return l.failed + len(l.faults) }

func (l *log) take(e event) {
	if e.Action == "build-output" {
		l.print("%s", e.Output)
	}
	if e.Package == "" {
		return // a build event; the package fails afterwards
	}
	if l.packages[e.Package] == nil {
		l.packages[e.Package] = &state{}
	}
	if e.Test == "" {
		l.takePackage(l.packages[e.Package], e)
		return
	}
	k := key{e.Package, e.Test}
	switch e.Action {
	case "run":
		l.running[k] = time.Now()
	case "output":
		if l.said[k] == nil {
			l.said[k] = new(strings.Builder)
		}
		l.said[k].WriteString(e.Output)
	case "pass", "fail", "skip":
		l.endTest(k, e.Action)
		l.noteTime(k, time.Duration(e.Elapsed*float64(time.Second)))
	}
}

func (l *log) endTest(k key, action string) {
	said := ""
	if b := l.said[k]; b != nil {
		said = b.String()
	}
	delete(l.said, k)
	delete(l.running, k)
	switch action {
	case "pass":
		l.passed++
	case "fail":
		l.failed++
		l.packages[k.pkg].failed++
		l.print("%s", said)
		l.failures = append(l.failures, failure{k, said})
	case "skip":
		l.skipped++
		why := reason(said)
		l.skippedTests = append(l.skippedTests, fmt.Sprintf("%s %s: %s", k.pkg, k.test, why))
		if !l.skips.allows(k, why) {
			l.fault("%s %s: skipped, and %s: %s", k.pkg, k.test, l.skips.missing(), why)
		}
	}
}

// takePackage handles an event of a whole package. Its result line repeats PASS and FAIL.
// Packages without tests are not printed.
func (l *log) takePackage(p *state, e event) {
	switch e.Action {
	case "output":
		if e.Output == "PASS\n" || e.Output == "FAIL\n" {
			p.verdict = true
			return
		}
		if strings.HasSuffix(e.Output, "[no tests to run]\n") {
			p.empty = true
		}
		if !strings.HasSuffix(e.Output, "[no test files]\n") {
			l.print("%s", e.Output)
		}
	case "skip":
		p.ended = true
	case "pass", "fail":
		p.ended = true
		l.endPackage(p, e)
	}
}

func (l *log) endPackage(p *state, e event) {
	for _, k := range l.open() {
		if k.pkg == e.Package {
			l.unfinished(k)
			p.failed++ // its subtests are reported already
		}
	}
	switch {
	case e.Action == "fail" && p.failed == 0:
		l.fault("%s: failed as a whole: it was not built, its tests ended early, or something was found after them", e.Package)
	case e.Action == "pass" && !p.verdict:
		l.fault("%s: its tests ended without a verdict, as by os.Exit(0)", e.Package)
	case e.Action == "pass" && p.empty && !l.chosen:
		l.fault("%s: has tests and ran none", e.Package)
	}
}

// open returns the tests that have started and not ended, sorted by name.
func (l *log) open() []key {
	return slices.SortedFunc(maps.Keys(l.running), func(a, b key) int {
		return strings.Compare(a.pkg+" "+a.test, b.pkg+" "+b.test)
	})
}

// unfinished records a test that will not end, and prints its output.
func (l *log) unfinished(k key) {
	if b := l.said[k]; b != nil {
		l.print("%s", b)
	}
	delete(l.said, k)
	delete(l.running, k)
	l.fault("%s %s: began and did not end", k.pkg, k.test)
}
