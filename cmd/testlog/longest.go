package main

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"
)

// timed is a test and how long it took.
type timed struct {
	key
	took time.Duration
}

const (
	// isLong is from when on a test is worth a line: whoever makes a run shorter begins
	// with these.
	isLong = 10 * time.Second
	// maxLong is how many are said.
	maxLong = 15
)

// noteTime remembers a whole test that took long.
func (l *log) noteTime(test key, took time.Duration) {
	if took >= isLong && !strings.Contains(test.test, "/") {
		l.long = append(l.long, timed{test, took})
	}
}

// longest are the tests that took longest, first.
func (l *log) longest() (lines []string) {
	slices.SortFunc(l.long, func(a, b timed) int {
		return cmp.Or(cmp.Compare(b.took, a.took), cmp.Compare(a.pkg, b.pkg), cmp.Compare(a.test, b.test))
	})
	for _, t := range l.long[:min(len(l.long), maxLong)] {
		lines = append(lines, fmt.Sprintf("%5d s  %s %s", int(t.took.Seconds()), t.pkg, t.test))
	}
	return lines
}
