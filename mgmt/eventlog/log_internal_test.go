package eventlog

import (
	"bytes"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func startTime() time.Time { return time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC) }

func open(dir string, said *bytes.Buffer) *Log {
	return Open(dir, slog.New(slog.NewTextHandler(said, nil)), startTime)
}

// texts returns the texts of all events, and fails the test if they cannot be read.
func texts(t *testing.T, l *Log) (out []string) {
	t.Helper()
	list, err := l.Read(time.Time{})
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range list {
		out = append(out, e.Text)
	}
	return out
}

func TestEventsOutliveTheLogInTheirOrder(t *testing.T) {
	dir, said := t.TempDir(), &bytes.Buffer{}
	l := open(dir, said)
	want := Event{Kind: Health, Severity: Error, Farms: []uint32{7}, Farm: "shop", Service: "web", Backend: "0 (10.0.0.1:80)", Text: "is down", Detail: "d", Revision: 3}
	l.Add(want, Event{Kind: Engine, Text: "second", Time: startTime().Add(time.Hour)})
	l.Close()
	l.Add(Event{Kind: Engine, Text: "too late"})
	again := open(dir, said)
	again.Add(Event{Kind: Engine, Text: "third"})
	if got := fmt.Sprint(texts(t, again)); got != "[is down second third]" {
		t.Errorf("got %s, want %s", got, "[is down second third]")
	}
	list, _ := again.Read(startTime().Add(time.Minute))
	if len(list) != 1 || list[0].Text != "second" {
		t.Errorf("later ones: %+v", list)
	}
	list, _ = again.Read(startTime())
	want.Time = startTime()
	if got := fmt.Sprintf("%+v", list[0]); got != fmt.Sprintf("%+v", want) {
		t.Errorf("%s", got)
	}
	again.Close()
	if said.Len() > 0 {
		t.Errorf("%s", said)
	}
}

// An added event can be read at once, at every stage of writing.
func TestAddedEventsAreReadableAtOnce(t *testing.T) {
	l := open(t.TempDir(), &bytes.Buffer{})
	defer l.Close()
	for i := range 200 {
		l.Add(Event{Kind: Health, Text: fmt.Sprint(i)})
		if n := len(texts(t, l)); n != i+1 {
			t.Fatalf("%d of %d events were read", n, i+1)
		}
	}
}

func TestFilesStayBounded(t *testing.T) {
	dir := t.TempDir()
	l := open(dir, &bytes.Buffer{})
	l.size = 1000
	for i := range 100 {
		l.Add(Event{Kind: Health, Text: fmt.Sprint(i)})
		l.done.Wait()
	}
	all := texts(t, l)
	if len(all) < 10 || len(all) > 30 || all[len(all)-1] != "99" {
		t.Errorf("%v", all)
	}
	entries, _ := os.ReadDir(dir)
	for _, e := range entries {
		if info, _ := e.Info(); info.Size() > 1000 {
			t.Errorf("%s has %d bytes", e.Name(), info.Size())
		}
	}
	if len(entries) != 2 {
		t.Errorf("%d files", len(entries))
	}
}

// A crash of the machine leaves a part of a line, or worse.
func TestTruncatedLineIsSkipped(t *testing.T) {
	dir := t.TempDir()
	l := open(dir, &bytes.Buffer{})
	l.Add(Event{Kind: Health, Text: "whole"})
	l.Close()
	path := filepath.Join(dir, FileName)
	f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	fmt.Fprint(f, "\x00\x00\n{}\n", `{"time":"2026-01-02T03:04:05Z","kind":"heal`)
	f.Close()
	l = open(dir, &bytes.Buffer{})
	l.Add(Event{Kind: Health, Text: "next"})
	l.Close()
	if got := fmt.Sprint(texts(t, l)); got != "[whole next]" {
		t.Errorf("got %s, want %s", got, "[whole next]")
	}
}

func TestWriteFailureIsLoggedOnce(t *testing.T) {
	dir, said := filepath.Join(t.TempDir(), "none"), &bytes.Buffer{}
	l := open(dir, said)
	for range 3 {
		l.Add(Event{Kind: Health, Text: "lost"})
		l.done.Wait()
	}
	if n := strings.Count(said.String(), "events cannot be written"); n != 1 {
		t.Errorf("logged %d times: %s", n, said)
	}
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	l.Add(Event{Kind: Health, Text: "kept"})
	l.Close()
	if !strings.Contains(said.String(), "events are written again") || fmt.Sprint(texts(t, l)) != "[kept]" {
		t.Errorf("%v %s", texts(t, l), said)
	}
}

func TestWaitingEventsAreBounded(t *testing.T) {
	said := &bytes.Buffer{}
	l := open(t.TempDir(), said)
	l.disk.Lock() // the disk is slow
	for range maxWaiting + 5 {
		l.Add(Event{Kind: Health, Text: "one of many"})
	}
	l.disk.Unlock()
	l.Close()
	if n := len(texts(t, l)); n != maxWaiting || !strings.Contains(said.String(), "number=5") {
		t.Errorf("%d are kept, %s", n, said)
	}
}

func TestLongTextsAreCutBetweenLetters(t *testing.T) {
	l := open(t.TempDir(), &bytes.Buffer{})
	defer l.Close()
	l.Add(Event{Kind: Health, Text: "a" + strings.Repeat("é", 600), Detail: strings.Repeat("x", 600)})
	list, _ := l.Read(time.Time{})
	if text := list[0].Text; len(text) != 511+len("…") || !strings.HasSuffix(text, "é…") || len(list[0].Detail) != 512+len("…") {
		t.Errorf("%d bytes: %q", len(text), text[len(text)-8:])
	}
}

func TestIdleLogHasNoGoroutine(t *testing.T) {
	l := open(t.TempDir(), &bytes.Buffer{})
	l.Add(Event{Kind: Health, Text: "one"})
	l.done.Wait() // the goroutine has ended
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.writing || l.waiting != nil {
		t.Errorf("writing %v, %d wait", l.writing, len(l.waiting))
	}
}

func FuzzLinesOfAFile(f *testing.F) {
	f.Add([]byte(`{"time":"2026-01-02T03:04:05Z","kind":"health","text":"x"}` + "\n"))
	f.Add([]byte("\x00{"))
	f.Fuzz(func(t *testing.T, b []byte) {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, FileName), b, 0o600); err != nil {
			t.Fatal(err)
		}
		l := open(dir, &bytes.Buffer{})
		l.Add(Event{Kind: Health, Text: "next"})
		l.Close()
		list, err := l.Read(time.Time{})
		if err == nil && (len(list) == 0 || list[len(list)-1].Text != "next") {
			t.Errorf("%q: %+v", b, list)
		}
	})
}
