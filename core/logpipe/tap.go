package logpipe

import (
	"bytes"
	"context"
	"log/slog"
	"strings"
	"time"
)

// Record is one log entry.
type Record struct {
	Level slog.Level
	Time  time.Time
	// Text is the message, followed by its attributes as key=value.
	Text string
}

// Sink receives records. It is implemented by *Writer. Its methods must be safe for
// concurrent use and must not block.
type Sink interface {
	// Active reports whether records are wanted now.
	Active() bool
	Take(r Record)
}

type tap struct {
	next slog.Handler
	to   Sink
	with []func(slog.Handler) slog.Handler // applies WithAttrs and WithGroup to the text, too
}

// Tap returns a handler that passes every record on to next, and as text to a Sink. The
// Sink must not log to this handler.
func Tap(next slog.Handler, to Sink) slog.Handler { return &tap{next: next, to: to} }

// Enabled implements slog.Handler.
func (t *tap) Enabled(ctx context.Context, level slog.Level) bool { return t.next.Enabled(ctx, level) }

// Handle implements slog.Handler.
func (t *tap) Handle(ctx context.Context, r slog.Record) error {
	if t.to.Active() {
		t.to.Take(Record{Level: r.Level, Time: r.Time, Text: t.text(ctx, r)})
	}
	return t.next.Handle(ctx, r)
}

// text returns the message followed by its attributes.
func (t *tap) text(ctx context.Context, r slog.Record) string {
	var values bytes.Buffer
	var to slog.Handler = slog.NewTextHandler(&values, &slog.HandlerOptions{Level: r.Level, ReplaceAttr: bare})
	for _, with := range t.with {
		to = with(to)
	}
	_ = to.Handle(ctx, r) // cannot fail: writes to memory
	return strings.TrimSpace(r.Message + " " + values.String())
}

// bare removes time, level and message.
func bare(groups []string, a slog.Attr) slog.Attr {
	if len(groups) == 0 && (a.Key == slog.TimeKey || a.Key == slog.LevelKey || a.Key == slog.MessageKey) {
		return slog.Attr{}
	}
	return a
}

// WithAttrs implements slog.Handler.
func (t *tap) WithAttrs(attrs []slog.Attr) slog.Handler {
	return t.and(t.next.WithAttrs(attrs), func(to slog.Handler) slog.Handler { return to.WithAttrs(attrs) })
}

// WithGroup implements slog.Handler.
func (t *tap) WithGroup(name string) slog.Handler {
	return t.and(t.next.WithGroup(name), func(to slog.Handler) slog.Handler { return to.WithGroup(name) })
}

func (t *tap) and(next slog.Handler, with func(slog.Handler) slog.Handler) slog.Handler {
	return &tap{next, t.to, append(t.with[:len(t.with):len(t.with)], with)}
}
