// Package report holds the results of a run: the JSON format, the statistics of rounds
// (ratio per round first, then median and range), the printed table, and the comparison
// of two runs.
package report
