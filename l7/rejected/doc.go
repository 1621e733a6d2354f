// Package rejected says what requests and answers are refused for: classes, which
// are counted and stand in the log, with the status a client is told.
package rejected
