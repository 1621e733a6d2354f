// Package logtest keeps what is logged, for tests.
package logtest

import (
	"bytes"
	"strings"
	"sync"
)

// Log keeps what is written to it, and may be read meanwhile. The zero value is
// empty.
type Log struct {
	mu   sync.Mutex
	text bytes.Buffer
}

// Write implements io.Writer.
func (l *Log) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

// String is everything that was written so far.
func (l *Log) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// Lines are the lines that hold text, so far.
func (l *Log) Lines(text string) (lines []string) {
	for line := range strings.Lines(l.String()) {
		if strings.Contains(line, text) {
			lines = append(lines, strings.TrimSuffix(line, "\n"))
		}
	}
	return lines
}

// Has reports whether a line holds text, so far.
func (l *Log) Has(text string) bool { return len(l.Lines(text)) > 0 }
