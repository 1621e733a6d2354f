package audit

import (
	"bytes"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// clock is a clock that the test sets.
type clock struct{ at time.Time }

func (c *clock) now() time.Time { return c.at }

func newClock() *clock { return &clock{time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)} }

func logger(said *bytes.Buffer) *slog.Logger { return slog.New(slog.NewTextHandler(said, nil)) }

func open(t *testing.T, dir string, c *clock, said *bytes.Buffer) *Log {
	t.Helper()
	l, err := Open(dir, logger(said), c.now)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	return l
}

// numbers returns the numbers of the entries, newest first.
func numbers(t *testing.T, l *Log, limit int, before uint64) (out []uint64) {
	t.Helper()
	entries, err := l.Read(limit, before)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		out = append(out, e.Number)
	}
	return out
}

func TestCallsAreKeptInOrder(t *testing.T) {
	dir, c := t.TempDir(), newClock()
	l := open(t, dir, c, &bytes.Buffer{})
	want := Entry{User: "ann", Source: "192.0.2.1", Method: "PUT", Path: "/farms/shop", Status: 200, Message: "changed", Revision: 7}
	l.Add(want)
	c.at = c.at.Add(time.Second)
	l.Add(Entry{User: "eve", Source: "192.0.2.2", Method: "DELETE", Path: "/farms/shop", Status: 403})
	_ = l.Close()
	l = open(t, dir, c, &bytes.Buffer{})
	l.Add(Entry{User: "ann", Path: "/a"})
	entries, err := l.Read(10, 0)
	if err != nil || len(entries) != 3 {
		t.Fatalf("%+v %v", entries, err)
	}
	want.Number, want.Time = 1, time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	if entries[2] != want || entries[1].Status != 403 || entries[0].Number != 3 {
		t.Errorf("got %+v", entries)
	}
	for _, c := range []struct {
		limit  int
		before uint64
		want   []uint64
	}{{2, 0, []uint64{3, 2}}, {10, 3, []uint64{2, 1}}, {1, 2, []uint64{1}}, {10, 1, nil}, {0, 0, nil}} {
		if got := numbers(t, l, c.limit, c.before); !slices.Equal(got, c.want) {
			t.Errorf("%d before %d: got %v, want %v", c.limit, c.before, got, c.want)
		}
	}
	if info, err := os.Stat(filepath.Join(dir, FileName)); err != nil || info.Mode() != 0o600 {
		t.Errorf("got %v %v, want 0o600", info.Mode(), err)
	}
}

func TestFullFilesAreFollowedByOthers(t *testing.T) {
	dir := t.TempDir()
	l := open(t, dir, newClock(), &bytes.Buffer{})
	l.size, l.files = 1000, 2
	const calls = 60
	for i := range calls {
		l.Add(Entry{User: "ann", Path: fmt.Sprintf("/farms/%02d", i), Method: "PUT"})
	}
	got := numbers(t, l, 1000, 0)
	if len(got) < 10 || len(got) == calls || got[0] != calls {
		t.Fatalf("kept: %v", got)
	}
	for i := range got {
		if got[i] != calls-uint64(i) {
			t.Fatalf("a gap: %v", got)
		}
	}
	for n, there := range map[int]bool{0: true, 1: true, 2: true, 3: false} {
		info, err := os.Stat(l.older(n))
		if (err == nil) != there || there && info.Size() > 1000 {
			t.Errorf("file %d: %v %v", n, info, err)
		}
	}
	files, _ := filepath.Glob(filepath.Join(dir, "*"))
	if got := strings.ReplaceAll(strings.Join(files, " "), dir+"/", ""); got != "audit.log audit.log.1 audit.log.2" {
		t.Errorf("the files are %s, want %s", got, "audit.log audit.log.1 audit.log.2")
	}
	var all bytes.Buffer
	if err := l.Export(&all); err != nil || bytes.Count(all.Bytes(), []byte("\n")) != len(got) || !strings.HasPrefix(all.String(), fmt.Sprintf(`{"number":%d,`, got[len(got)-1])) {
		t.Errorf("%v\n%s", err, all.String())
	}
	_ = l.Close()
	l = open(t, dir, newClock(), &bytes.Buffer{})
	if l.Add(Entry{User: "ann"}); numbers(t, l, 1, 0)[0] != calls+1 {
		t.Error("the numbers restarted")
	}
}

// An unknown client can send any number of calls: the calls of others must remain.
func TestStrangersAreWrittenAtABoundedRate(t *testing.T) {
	c := newClock()
	l := open(t, t.TempDir(), c, &bytes.Buffer{})
	for range 100 {
		l.Add(Entry{Status: 401})
	}
	l.Add(Entry{User: "ann", Status: 200})
	c.at = c.at.Add(time.Minute)
	l.Add(Entry{Status: 401})
	entries, err := l.Read(100, 0)
	if err != nil || len(entries) != strangers+2 || entries[1].Missing != 100-strangers || entries[1].User != "ann" || entries[0].Missing != 0 {
		t.Errorf("%d entries, %+v, %v", len(entries), entries[:2], err)
	}
}

// A user with few rights can send any number of calls that are refused.
func TestRefusedCallsOfAUserAreWrittenAtABoundedRate(t *testing.T) {
	l := open(t, t.TempDir(), newClock(), &bytes.Buffer{})
	for range 500 {
		l.Add(Entry{User: "eve", Status: 403})
	}
	l.Add(Entry{User: "ann", Status: 400})
	l.Add(Entry{User: "eve", Status: 200})
	entries, err := l.Read(1000, 0)
	if err != nil || len(entries) != refusals+2 || entries[1].Missing != 500-refusals || entries[0].User != "eve" {
		t.Errorf("%d entries, %+v, %v", len(entries), entries[:2], err)
	}
}

func TestTruncatedLineAffectsNoOther(t *testing.T) {
	dir := t.TempDir()
	l := open(t, dir, newClock(), &bytes.Buffer{})
	l.Add(Entry{User: "ann"})
	_ = l.Close()
	f, err := os.OpenFile(filepath.Join(dir, FileName), os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		t.Fatal(err)
	}
	_, _ = f.WriteString(`{"number":2,"us`)
	_ = f.Close()
	l = open(t, dir, newClock(), &bytes.Buffer{})
	if l.Add(Entry{User: "eve"}); !slices.Equal(numbers(t, l, 10, 0), []uint64{2, 1}) {
		t.Errorf("got %v", numbers(t, l, 10, 0))
	}
}

func TestClientTextsAreTruncated(t *testing.T) {
	l := open(t, t.TempDir(), newClock(), &bytes.Buffer{})
	long := strings.Repeat("\x01", 10_000)
	l.Add(Entry{User: "ann", Path: long, Message: long, Method: long})
	entries, err := l.Read(1, 0)
	if err != nil || len(entries) != 1 || len(entries[0].Path) != maxText+len("…") || len(entries[0].Message) != maxText+len("…") || len(entries[0].Method) != maxText+len("…") {
		t.Errorf("%v %+v", err, entries)
	}
}

func TestWriteFailureIsLoggedOnce(t *testing.T) {
	var said bytes.Buffer
	dir := t.TempDir()
	l := open(t, dir, newClock(), &said)
	good := l.file
	broken, err := os.Open(filepath.Join(dir, FileName)) // cannot be written
	if err != nil {
		t.Fatal(err)
	}
	l.file = broken
	l.Add(Entry{User: "ann"})
	l.Add(Entry{User: "ann"})
	if n := strings.Count(said.String(), "cannot be written"); n != 1 {
		t.Errorf("logged %d times:\n%s", n, said.String())
	}
	l.file = good
	l.Add(Entry{User: "ann"})
	l.Add(Entry{User: "ann"})
	if !strings.Contains(said.String(), "is written again") || !slices.Equal(numbers(t, l, 10, 0), []uint64{2, 1}) {
		t.Errorf("%v\n%s", numbers(t, l, 10, 0), said.String())
	}
	_ = broken.Close()
	if _, err := Open(filepath.Join(dir, FileName), slog.Default(), newClock().now); err == nil {
		t.Error("opened in a folder that is a file")
	}
}

func TestLogHasTwentyOneFilesOfAMebibyte(t *testing.T) {
	if l := open(t, t.TempDir(), newClock(), &bytes.Buffer{}); l.size != 1<<20 || l.files != 20 {
		t.Errorf("%d older files of %d bytes", l.files, l.size)
	}
}

// lineSize returns the length of the line of a call that every test may add.
func lineSize(t *testing.T) int64 {
	l := open(t, t.TempDir(), newClock(), &bytes.Buffer{})
	l.Add(Entry{User: "ann"})
	return l.written
}

func TestAFileIsFilledToTheByte(t *testing.T) {
	one := lineSize(t)
	for size, older := range map[int64]bool{one: true, 2*one - 1: true, 2 * one: false} {
		dir := t.TempDir()
		l := open(t, dir, newClock(), &bytes.Buffer{})
		l.size = size
		l.Add(Entry{User: "ann"})
		_ = l.Close()
		l = open(t, dir, newClock(), &bytes.Buffer{}) // includes the existing lines
		l.size = size
		l.Add(Entry{User: "eve"})
		if _, err := os.Stat(l.older(1)); (err == nil) != older {
			t.Errorf("%d bytes, of lines of %d: another file %t, want %t", size, one, !older, older)
		}
	}
	l := open(t, t.TempDir(), newClock(), &bytes.Buffer{})
	l.size = 1
	if l.Add(Entry{User: "ann"}); !slices.Equal(numbers(t, l, 9, 0), []uint64{1}) {
		t.Error("a line longer than a file is not kept")
	}
	if _, err := os.Stat(l.older(1)); err == nil {
		t.Error("an empty file was kept")
	}
}

func TestRepairedLineCountsItsLineEnd(t *testing.T) {
	dir := t.TempDir()
	const cutOff = `{"number":2,"us`
	if err := os.WriteFile(filepath.Join(dir, FileName), []byte(cutOff), 0o600); err != nil {
		t.Fatal(err)
	}
	if l := open(t, dir, newClock(), &bytes.Buffer{}); l.written != int64(len(cutOff)+1) {
		t.Errorf("it is %d bytes", l.written)
	}
	if l := open(t, dir, newClock(), &bytes.Buffer{}); l.written != int64(len(cutOff)+1) {
		t.Errorf("ended twice: it is %d bytes", l.written)
	}
}

func TestTimesAreUTC(t *testing.T) {
	c := &clock{time.Date(2026, 1, 2, 3, 4, 5, 0, time.FixedZone("", 3600))}
	l := open(t, t.TempDir(), c, &bytes.Buffer{})
	l.Add(Entry{User: "ann"})
	var all bytes.Buffer
	if err := l.Export(&all); err != nil || !strings.Contains(all.String(), `"time":"2026-01-02T02:04:05Z"`) {
		t.Errorf("%v %s", err, all.String())
	}
}

func TestOnlyRefusedCallsAreLimited(t *testing.T) {
	for name, c := range map[string]struct {
		user   string
		status int
		want   int
	}{
		"refused": {"ann", 400, 120}, "done": {"ann", 399, 200}, "of nobody": {"", 200, 30},
	} {
		l := open(t, t.TempDir(), newClock(), &bytes.Buffer{})
		for range 200 {
			l.Add(Entry{User: c.user, Status: c.status})
		}
		if got := len(numbers(t, l, 1000, 0)); got != c.want {
			t.Errorf("%s: %d are kept", name, got)
		}
	}
}

func TestEachMinuteHasItsOwnRefusals(t *testing.T) {
	c := newClock() // five seconds into a minute
	l := open(t, t.TempDir(), c, &bytes.Buffer{})
	for range 2 {
		for range 40 {
			l.Add(Entry{Status: 401})
		}
		c.at = c.at.Add(54 * time.Second) // still the same minute
		l.Add(Entry{Status: 401})
		c.at = c.at.Add(6 * time.Second)
	}
	if got := len(numbers(t, l, 1000, 0)); got != 60 {
		t.Errorf("%d of two minutes are kept", got)
	}
}

func TestFittingTextsAreNotTruncated(t *testing.T) {
	for length, want := range map[int]int{512: 512, 513: 512 + len("…")} {
		if got := cut(strings.Repeat("x", length)); len(got) != want {
			t.Errorf("%d long: %d are left", length, len(got))
		}
	}
}

func TestLostEntriesAreCountedUntilLogged(t *testing.T) {
	l := open(t, t.TempDir(), newClock(), &bytes.Buffer{})
	for range strangers + 5 {
		l.Add(Entry{Status: 401})
	}
	_ = l.Close()
	l.Add(Entry{User: "ann"})
	if err := l.open(); err != nil {
		t.Fatal(err)
	}
	l.Add(Entry{User: "ann"})
	if entries, err := l.Read(1, 0); err != nil || entries[0].Missing != 5 || entries[0].Number != strangers+1 {
		t.Errorf("%+v %v", entries, err)
	}
}

func TestObstructingFileIsReported(t *testing.T) {
	var said bytes.Buffer
	l := open(t, t.TempDir(), newClock(), &said)
	l.size, l.files = 1, 2
	l.Add(Entry{User: "ann"})
	if err := os.MkdirAll(filepath.Join(l.older(1), "x"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Join(l.older(2), "x"), 0o700); err != nil {
		t.Fatal(err)
	}
	l.Add(Entry{User: "ann"})
	if !strings.Contains(said.String(), "cannot be written") {
		t.Errorf("logged: %s", said.String())
	}
	if _, err := l.file.Stat(); err != nil {
		t.Errorf("it is not open any more: %v", err)
	}
	if got := numbers(t, l, 1, 0); !slices.Equal(got, []uint64{1}) {
		t.Errorf("the newest: %v", got)
	}
	if _, err := l.Read(2, 0); err == nil || !strings.Contains(err.Error(), "read the audit log") {
		t.Errorf("reading all: %v", err)
	}
	if err := l.Export(&bytes.Buffer{}); err == nil || !strings.Contains(err.Error(), "export the audit log") {
		t.Errorf("exporting: %v", err)
	}
}

func TestNumbersContinueFromAnOlderFile(t *testing.T) {
	dir := t.TempDir()
	l := open(t, dir, newClock(), &bytes.Buffer{})
	l.Add(Entry{User: "ann"})
	l.Add(Entry{User: "ann"})
	_ = l.Close()
	if err := os.Rename(l.older(0), l.older(1)); err != nil {
		t.Fatal(err)
	}
	l = open(t, dir, newClock(), &bytes.Buffer{})
	if l.Add(Entry{User: "eve"}); !slices.Equal(numbers(t, l, 10, 0), []uint64{3, 2, 1}) {
		t.Errorf("got %v", numbers(t, l, 10, 0))
	}
}

// Told is called with each recorded call, even if the disk fails.
func TestToldGetsEveryRecordedCall(t *testing.T) {
	c := newClock()
	var said bytes.Buffer
	l := open(t, t.TempDir(), c, &said)
	var heard []Entry
	l.Told = func(e Entry) { heard = append(heard, e) }
	for range strangers + 5 {
		l.Add(Entry{Source: "192.0.2.1", Method: "GET", Path: "/x", Status: 401})
	}
	l.Add(Entry{User: "ann", Status: 200})
	if err := l.file.Close(); err != nil {
		t.Fatal(err)
	}
	l.Add(Entry{User: "bob", Status: 200})
	if n := len(heard); n != strangers+2 || heard[n-2].Missing != 5 || heard[n-2].Number != strangers+1 || !heard[n-2].Time.Equal(c.at) || heard[n-1].User != "bob" {
		t.Errorf("%d lines received, the last two %+v", n, heard[max(n-2, 0):])
	}
}
