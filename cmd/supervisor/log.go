package supervisor

import (
	"bytes"
	"io"
	"log/slog"
	"os"
	"sync/atomic"
	"time"

	"github.com/sluicelb/sluice/core/logqueue"
)

// LogVariable sets the log level on standard error: debug, info, warn or error. The default
// is info.
const LogVariable = "SLUICE_LOG"

// logLevel is the log level of this process.
var logLevel slog.LevelVar

// SetLogLevel sets the log level of this process: debug, info, warn or error. For other
// values the level of LogVariable applies.
func SetLogLevel(word string) {
	var level slog.Level
	if level.UnmarshalText([]byte(word)) != nil && level.UnmarshalText([]byte(os.Getenv(LogVariable))) != nil {
		level = slog.LevelInfo
	}
	logLevel.Set(level)
}

// flushTime bounds the wait of an ending process for its last lines.
const flushTime = time.Second

// queue holds the log lines of this process.
var queue atomic.Pointer[logqueue.Queue]

// Logger returns the logger of an appliance process for a role name. Logging never waits for
// standard error; FlushLog does.
func Logger(role string) *slog.Logger {
	SetLogLevel("")
	q := logqueue.New(os.Stderr, func(lost uint64) string {
		var line bytes.Buffer
		slog.New(slog.NewTextHandler(&line, nil)).Warn("log lines were dropped: they were not read in time", "role", role, "lines", lost)
		return string(bytes.TrimSuffix(line.Bytes(), []byte("\n")))
	})
	queue.Store(q)
	return slog.New(slog.NewTextHandler(q, &slog.HandlerOptions{Level: &logLevel})).With("role", role)
}

// lines returns the destination for lines that this process forwards to standard error: its
// own queue, so that it does not block.
func lines() io.Writer {
	if q := queue.Load(); q != nil {
		return q
	}
	return os.Stderr
}

// FlushLog writes the queued log lines before the process ends.
func FlushLog() {
	if q := queue.Load(); q != nil {
		q.Flush(flushTime)
	}
}
