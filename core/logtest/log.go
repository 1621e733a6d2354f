// Package logtest records log output for tests.
package logtest

import (
	"bytes"
	"strings"
	"sync"
	"testing"
	"time"
)

// Log records what is written to it. It is safe for concurrent use. The zero value is
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

// String returns everything written so far.
func (l *Log) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// Lines returns the lines written so far that contain text.
func (l *Log) Lines(text string) (lines []string) {
	for line := range strings.Lines(l.String()) {
		if strings.Contains(line, text) {
			lines = append(lines, strings.TrimSuffix(line, "\n"))
		}
	}
	return lines
}

// Has reports whether a line written so far contains text.
func (l *Log) Has(text string) bool { return len(l.Lines(text)) > 0 }

// Await waits until a line contains text.
func (l *Log) Await(t testing.TB, text string) {
	t.Helper()
	for end := time.Now().Add(10 * time.Second); !l.Has(text); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%q was not logged: %s", text, l)
		}
	}
}
