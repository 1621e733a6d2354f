package main

import (
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"
)

// progress prints the progress after a while without output.
func (l *log) progress(now time.Time) {
	if now.Sub(l.spoke) < progressEvery {
		return
	}
	ended := 0
	for _, p := range l.packages {
		if p.ended {
			ended++
		}
	}
	var oldest key
	since := now
	for k, began := range l.running {
		if began.Before(since) {
			oldest, since = k, began
		}
	}
	at := ""
	if oldest.test != "" {
		at = "; " + oldest.pkg + " " + oldest.test + " runs for " + now.Sub(since).Round(time.Second).String()
	}
	l.print("... %d of %d packages, %d passed, %d failed, %d skipped so far%s\n", ended, len(l.packages), l.passed, l.wrong(), l.skipped, at)
}

// end prints the summary and reports whether the run succeeded.
func (l *log) end() bool {
	for _, k := range l.open() { // go test itself has ended
		l.unfinished(k)
	}
	for _, name := range slices.Sorted(maps.Keys(l.packages)) {
		if !l.packages[name].ended {
			l.fault("%s: no end of it was seen", name)
		}
	}
	if l.passed == 0 && l.wrong() == 0 && len(l.unsteady) == 0 {
		l.fault("no test passed: nothing was tested")
	}
	l.list("Took longest:", l.longest())
	l.list("Skipped, and why:", l.skippedTests)
	l.list("Unsteady: failed beside other tests and passed alone. To be mended:", told(l.unsteady))
	l.list("Failed, and what these tests said themselves:", told(l.failures))
	l.list("Not as it must be:", l.faults)
	l.print("\n%d passed, %d failed, %d skipped\n", l.passed, l.wrong(), l.skipped)
	return l.wrong() == 0
}

func (l *log) list(title string, lines []string) {
	if len(lines) == 0 {
		return
	}
	l.print("\n%s\n", title)
	for _, s := range lines {
		l.print("  %s\n", s)
	}
}

// maxFindings bounds the lines of a failed test in the summary. The last ones show why it
// failed.
const maxFindings = 12

// ofATest matches a line written by t.Error, t.Fatal or t.Log.
var ofATest = regexp.MustCompile(`^ +\w+_test\.go:\d+: `)

// told returns the names of tests, each with its findings.
func told(failures []failure) (lines []string) {
	for _, f := range failures {
		lines = append(lines, f.pkg+" "+f.test)
		lines = append(lines, findings(f.said)...)
	}
	return lines
}

// findings returns the last lines that a failed test wrote itself, without the output of
// the programs it ran.
func findings(said string) (lines []string) {
	for line := range strings.Lines(said) {
		if ofATest.MatchString(line) {
			lines = append(lines, "  "+strings.TrimSpace(line))
		}
	}
	return lines[max(0, len(lines)-maxFindings):]
}

// reason returns the message of a skipped test on one line.
func reason(said string) string {
	var words []string
	for line := range strings.Lines(said) {
		line = strings.TrimSpace(line)
		if line != "" && !strings.HasPrefix(line, "===") && !strings.HasPrefix(line, "---") {
			words = append(words, line)
		}
	}
	if len(words) == 0 {
		return "no reason given"
	}
	return strings.Join(words, " ")
}
