package logpipe

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/sluicelb/sluice/core/logtest"
)

// pipe returns a Writer and the read end of its pipe.
func pipe(t *testing.T) (*os.File, *Writer) {
	t.Helper()
	r, f, err := Open()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = r.Close(); _ = f.Close() })
	w, err := NewWriter(f)
	if err != nil {
		t.Fatal(err)
	}
	return r, w
}

// reading sends the records of a pipe to a channel.
func reading(t *testing.T, r *os.File) <-chan Record {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	out, ended := make(chan Record), make(chan error, 1)
	go func() {
		ended <- Read(ctx, r, func(r Record) {
			select {
			case out <- r:
			case <-ctx.Done():
			}
		})
	}()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; !errors.Is(err, context.Canceled) {
			t.Errorf("it ended with %v", err)
		}
	})
	return out
}

func next(t *testing.T, from <-chan Record) Record {
	t.Helper()
	select {
	case r := <-from:
		return r
	case <-time.After(20 * time.Second):
		t.Fatal("no line arrived")
		return Record{}
	}
}

func TestRecordsArriveUnchanged(t *testing.T) {
	r, w := pipe(t)
	from := reading(t, r)
	var local logtest.Log
	log := slog.New(Tap(slog.NewTextHandler(&local, nil), w))
	log.Debug("not enabled")
	before := time.Now()
	log.With("farm", "shop").WithGroup("g").Error("it\nfailed", "cause", "no\nroom", "msg", 1)
	got := next(t, from)
	if got.Level != slog.LevelError || got.Text != `it\x0afailed farm=shop g.cause="no\nroom" g.msg=1` || got.Time.Before(before) || time.Since(got.Time) > time.Minute {
		t.Errorf("%+v", got)
	}
	if !local.Has(`level=ERROR msg="it\nfailed" farm=shop g.cause=`) || local.Has("not enabled") {
		t.Errorf("here: %s", &local)
	}
	log.Info(strings.Repeat("x", 3*MaxRecord))
	if got := next(t, from); got.Level != slog.LevelInfo || len(got.Text) < MaxRecord-40 || len(got.Text) >= MaxRecord {
		t.Errorf("a long one came as %d bytes", len(got.Text))
	}
	log.Warn("the next")
	if got := next(t, from); got.Text != "the next" || got.Level != slog.LevelWarn {
		t.Errorf("after it: %+v", got)
	}
}

func TestRuntimeOutputArrivesLineByLine(t *testing.T) {
	r, w := pipe(t)
	from := reading(t, r)
	text := "panic: x\r\n\ngoroutine 1:\n\tmain"
	if n, err := w.Said("engine").Write([]byte(text)); n != len(text) || err != nil {
		t.Error(n, err)
	}
	for _, want := range []string{"engine said: panic: x", "engine said: goroutine 1:", "engine said: \tmain"} {
		if got := next(t, from); got.Text != want || got.Level != slog.LevelError {
			t.Errorf("%+v, want %q", got, want)
		}
	}
}

func TestWritersDoNotBlockOnAFullPipe(t *testing.T) {
	r, w := pipe(t)
	const records = 2 * 64 << 10 / MaxRecord // twice what a pipe holds
	for range records {
		w.Take(Record{Text: strings.Repeat("x", 2*MaxRecord)})
	}
	lost := w.lost
	if lost == 0 || lost >= records {
		t.Fatalf("%d of %d are lost", lost, records)
	}
	from := reading(t, r)
	for range records - lost {
		if got := next(t, from); !strings.HasPrefix(got.Text, "xxx") {
			t.Fatalf("%+v", got)
		}
	}
	w.Take(Record{Text: "the next"})
	if got := next(t, from); got.Level != slog.LevelWarn || !strings.Contains(got.Text, "log lines were left out here") {
		t.Errorf("%+v", got)
	}
	if got := next(t, from); got.Text != "the next" || w.lost != 0 {
		t.Errorf("%+v, %d lost", got, w.lost)
	}
}

func TestTheEndOfAllWritersEndsReading(t *testing.T) {
	r, f, err := Open()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	_ = f.Close()
	if err := Read(t.Context(), r, func(r Record) { t.Errorf("%+v", r) }); err != nil {
		t.Error(err)
	}
}

func TestMalformedRecordIsLoggedAsText(t *testing.T) {
	for _, text := range []string{"", "x", "4", "4 5", "x 5 text", "4 x text", "400 5 text"} {
		if got := parse([]byte(text + "\n")); got.Text != text || got.Level != slog.LevelWarn {
			t.Errorf("%q became %+v", text, got)
		}
	}
	if got := parse([]byte("-4 5 a b\n")); got.Text != "a b" || got.Level != slog.LevelDebug || got.Time.UnixNano() != 5 {
		t.Errorf("%+v", got)
	}
}

// A compromised process can cost the reader only a limited number of records per
// second.
func TestReadingIsRateLimited(t *testing.T) {
	now := time.Unix(100, 0)
	var waited []time.Duration
	p := pace{now: func() time.Time { return now }, wait: func(d time.Duration) { waited = append(waited, d); now = now.Add(d) }}
	for range MostPerSecond - 1 {
		p.one()
	}
	now = now.Add(300 * time.Millisecond)
	if p.one(); len(waited) != 1 || waited[0] != 700*time.Millisecond {
		t.Errorf("waited %v", waited)
	}
	for range MostPerSecond - 1 {
		p.one()
	}
	now = now.Add(time.Hour) // longer than a second
	if p.one(); len(waited) != 1 {
		t.Errorf("waited %v", waited)
	}
	for range MostPerSecond {
		p.one()
	}
	if len(waited) != 2 || waited[1] != time.Second {
		t.Errorf("waited %v", waited)
	}
}

func TestReadingKeepsThePace(t *testing.T) {
	r, f, err := Open()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	w, err := NewWriter(f)
	if err != nil {
		t.Fatal(err)
	}
	for range MostPerSecond {
		w.Take(Record{Text: "x"})
	}
	lost := w.lost
	_ = f.Close()
	waits, records := 0, 0
	p := pace{now: func() time.Time { return time.Unix(1, 0) }, wait: func(time.Duration) { waits++ }}
	if err := readAt(t.Context(), r, p, func(Record) { records++ }); err != nil {
		t.Fatal(err)
	}
	if waits != 1 || records != MostPerSecond || lost != 0 {
		t.Errorf("%d waits for %d records, %d lost", waits, records, lost)
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte("4 1700000000000000000 text k=v\n"))
	f.Add([]byte("-4 -1 \n"))
	f.Add([]byte("\x00\xff"))
	f.Fuzz(func(t *testing.T, b []byte) {
		line := appendRecord(nil, parse(b))
		if len(line) > MaxRecord || bytes.Count(line, []byte("\n")) != 1 || line[len(line)-1] != '\n' {
			t.Errorf("%q became %q", b, line)
		}
	})
}
