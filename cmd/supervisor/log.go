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

// LogVariable sets how much the appliance says on standard error: debug, info,
// warn or error. Unset or anything else means info.
const LogVariable = "SLUICE_LOG"

// logLevel is how much this process says.
var logLevel slog.LevelVar

// SetLogLevel has this process say as much from now on: debug, info, warn or error;
// anything else is what LogVariable says.
func SetLogLevel(word string) {
	var level slog.Level
	if level.UnmarshalText([]byte(word)) != nil && level.UnmarshalText([]byte(os.Getenv(LogVariable))) != nil {
		level = slog.LevelInfo
	}
	logLevel.Set(level)
}

// flushTime bounds how long a process that ends waits for its last lines.
const flushTime = time.Second

// queue is where the lines of this process wait.
var queue atomic.Pointer[logqueue.Queue]

// Logger returns the logger of a process of the appliance, under the given
// name of its role. Nobody who logs waits for standard error; FlushLog does.
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

// lines is where lines for standard error go that this process passes on for
// another: to its own, so that it does not wait either.
func lines() io.Writer {
	if q := queue.Load(); q != nil {
		return q
	}
	return os.Stderr
}

// FlushLog writes what the process has logged, before it ends.
func FlushLog() {
	if q := queue.Load(); q != nil {
		q.Flush(flushTime)
	}
}
