package main

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"
)

// timed is a test and its duration.
type timed struct {
	key
	took time.Duration
}

const (
	// isLong is the duration from which a test is listed. Anybody who wants to shorten a
	// run starts with these.
	isLong = 10 * time.Second
	// maxLong bounds the number of listed tests.
	maxLong = 15
)

// noteTime records a slow test; subtests are ignored.
func (l *log) noteTime(test key, took time.Duration) {
	if took >= isLong && !strings.Contains(test.test, "/") {
		l.long = append(l.long, timed{test, took})
	}
}

// longest returns the slowest tests, in descending order.
func (l *log) longest() (lines []string) {
	slices.SortFunc(l.long, func(a, b timed) int {
		return cmp.Or(cmp.Compare(b.took, a.took), cmp.Compare(a.pkg, b.pkg), cmp.Compare(a.test, b.test))
	})
	for _, t := range l.long[:min(len(l.long), maxLong)] {
		lines = append(lines, fmt.Sprintf("%5d s  %s %s", int(t.took.Seconds()), t.pkg, t.test))
	}
	return lines
}
