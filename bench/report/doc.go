// Package report holds the results of a run: the form that is kept as JSON, the
// arithmetic of rounds (ratio per round first, then median and range), the
// table people read, and the comparison of two runs.
package report
