package support

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"slices"
	"sync"
)

// Tail keeps the end of a process's log. The zero value is empty and needs no memory; it
// grows up to tailSize.
type Tail struct {
	mu   sync.Mutex
	text []byte
}

// tailSize is how much is kept, in bytes.
const tailSize = 64 << 10

// Write adds a line.
func (t *Tail) Write(b []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if over := len(t.text) + len(b) - tailSize; over > 0 {
		t.text = slices.Delete(t.text, 0, min(over, len(t.text)))
		if end := bytes.IndexByte(t.text, '\n'); end >= 0 { // an incomplete line
			t.text = slices.Delete(t.text, 0, end+1)
		}
	}
	t.text = append(t.text, b[max(0, len(b)-tailSize):]...)
	return len(b), nil
}

// Part returns the kept text.
func (t *Tail) Part(name string) Part {
	return Part{Name: name, Write: func(_ context.Context, w io.Writer) error {
		t.mu.Lock()
		defer t.mu.Unlock()
		_, err := w.Write(t.text)
		return err
	}}
}

// Beside returns a handler that logs to h, and also to the Tail.
func (t *Tail) Beside(h slog.Handler) slog.Handler {
	return beside{h, slog.NewTextHandler(t, &slog.HandlerOptions{Level: slog.LevelDebug})}
}

type beside struct{ first, second slog.Handler }

func (b beside) Enabled(ctx context.Context, l slog.Level) bool { return b.first.Enabled(ctx, l) }

func (b beside) Handle(ctx context.Context, r slog.Record) error {
	_ = b.second.Handle(ctx, r.Clone()) // memory always accepts it
	return b.first.Handle(ctx, r)
}

func (b beside) WithAttrs(a []slog.Attr) slog.Handler {
	return beside{b.first.WithAttrs(a), b.second.WithAttrs(a)}
}

func (b beside) WithGroup(name string) slog.Handler {
	return beside{b.first.WithGroup(name), b.second.WithGroup(name)}
}
