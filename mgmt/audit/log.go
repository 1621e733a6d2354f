package audit

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/sluicelb/sluice/mgmt/disk"
)

// Entry is one call.
type Entry struct {
	Number   uint64    `json:"number" doc:"Numbered from 1 without gaps"`
	Time     time.Time `json:"time"`
	User     string    `json:"user,omitempty" doc:"Absent if no user was identified"`
	Source   string    `json:"source" doc:"Source address of the call, or local"`
	Method   string    `json:"method"`
	Path     string    `json:"path"`
	Status   int       `json:"status"`
	Message  string    `json:"message,omitempty" doc:"Reason for rejection, or the action performed"`
	Revision uint64    `json:"revision,omitempty" doc:"Revision of the configuration after the call"`
	Missing  int       `json:"missing,omitempty" doc:"Number of unauthenticated or rejected calls since the previous entry that were not recorded"`
}

// FileName is the name of the current file; older ones have the suffixes .1, .2 …
const FileName = "audit.log"

const (
	defaultSize  = 1 << 20 // read as a whole to list the newest
	defaultFiles = 20
	// strangers is how many calls of unknown clients are written in a minute.
	strangers = 30
	// refusals is how many refused calls of a user are written in a minute.
	refusals = 120
	// maxText is the greatest length of a client's texts in a line, in bytes.
	maxText = 512
	// maxLine is longer than any line.
	maxLine = 16 << 10
)

// Log holds the calls of an appliance; make it with Open. It may be used from any
// goroutine.
type Log struct {
	// Told is called with every recorded call and its number, even if writing it failed. It
	// must not wait. nil: there is no such function. Set it before the first call.
	Told func(Entry)

	path string
	log  *slog.Logger
	now  func() time.Time

	size  int64 // of a file
	files int   // older ones that are kept

	mu      sync.Mutex
	file    *os.File
	written int64 // bytes in file
	last    uint64
	failing bool
	minute  time.Time
	seen    map[string]int // refused calls in that minute, by user
	missing int
}

// Open continues the log in a directory, or starts one. It completes a line that was cut
// off by a crash of the machine.
func Open(dir string, log *slog.Logger, now func() time.Time) (*Log, error) {
	l := &Log{path: filepath.Join(dir, FileName), log: log, now: now, size: defaultSize, files: defaultFiles}
	if err := l.open(); err != nil {
		return nil, disk.Explain(l.path, fmt.Errorf("open the audit log: %w", err))
	}
	return l, nil
}

func (l *Log) open() (err error) {
	if l.file, err = os.OpenFile(l.path, os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o600); err != nil {
		return err
	}
	info, err := l.file.Stat()
	if err == nil && l.last == 0 {
		err = l.findLast()
	}
	if err == nil {
		l.written = info.Size()
		err = l.endLine()
	}
	if err != nil {
		_ = l.file.Close()
	}
	return err
}

// endLine completes a line that was cut off.
func (l *Log) endLine() error {
	if l.written == 0 {
		return nil
	}
	var end [1]byte
	if _, err := l.file.ReadAt(end[:], l.written-1); err != nil {
		return err
	}
	if end[0] == '\n' {
		return nil
	}
	n, err := l.file.Write([]byte{'\n'})
	l.written += int64(n)
	return err
}

// findLast reads the last number in the log.
func (l *Log) findLast() error {
	entries, err := l.read(1, 0)
	if len(entries) > 0 {
		l.last = entries[0].Number
	}
	return err
}

// Close ends the log; later calls are not recorded.
func (l *Log) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.file.Close()
}

// Add writes a call, with the next number and the current time. A failure is logged once
// until writing succeeds again.
func (l *Log) Add(e Entry) {
	l.mu.Lock()
	defer l.mu.Unlock()
	e.Time = l.now().UTC()
	if (e.User == "" || e.Status >= 400) && !l.mayRefused(e.User, e.Time) {
		l.missing++
		return
	}
	e.Missing, e.Number = l.missing, l.last+1
	e.Method, e.Path, e.Message = cut(e.Method), cut(e.Path), cut(e.Message)
	err := l.append(&e)
	if err == nil {
		l.last, l.missing = e.Number, 0
	}
	if l.Told != nil {
		l.Told(e)
	}
	if failing := err != nil; failing != l.failing {
		if l.failing = failing; failing {
			l.log.Error("the audit log cannot be written: calls are not kept", "error", disk.Explain(l.path, err))
		} else {
			l.log.Info("the audit log is written again")
		}
	}
}

// mayRefused reports whether another call of an unknown client, or a refused call of a
// user, may be written now.
func (l *Log) mayRefused(user string, now time.Time) bool {
	if minute := now.Truncate(time.Minute); !minute.Equal(l.minute) {
		l.minute, l.seen = minute, map[string]int{}
	}
	l.seen[user]++
	if user == "" {
		return l.seen[user] <= strangers
	}
	return l.seen[user] <= refusals
}

func cut(text string) string {
	if len(text) <= maxText {
		return text
	}
	return text[:maxText] + "…"
}

func (l *Log) append(e *Entry) error {
	line, err := json.Marshal(e)
	if err != nil {
		return err
	}
	line = append(line, '\n')
	if l.written > 0 && l.written+int64(len(line)) > l.size {
		if err := l.rotate(); err != nil {
			return err
		}
	}
	l.written, err = disk.Append(l.file, l.written, line)
	return err
}

// rotate starts a new file and removes the oldest.
func (l *Log) rotate() error {
	if err := l.file.Close(); err != nil && !errors.Is(err, os.ErrClosed) {
		return err
	}
	for n := l.files; n > 0; n-- {
		if err := os.Rename(l.older(n-1), l.older(n)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return errors.Join(err, l.open())
		}
	}
	return l.open()
}

// older returns the n-th file before the current one, which is the 0th.
func (l *Log) older(n int) string {
	if n == 0 {
		return l.path
	}
	return fmt.Sprintf("%s.%d", l.path, n)
}

// Read returns the newest calls first, at most limit. If before is not 0, it returns only
// calls with a lower number.
func (l *Log) Read(limit int, before uint64) ([]Entry, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.read(limit, before)
}

func (l *Log) read(limit int, before uint64) (out []Entry, err error) {
	for n := 0; n <= l.files && len(out) < limit; n++ {
		entries, err := readFile(l.older(n), before)
		if errors.Is(err, fs.ErrNotExist) {
			break
		}
		if err != nil {
			return nil, disk.Explain(l.path, fmt.Errorf("read the audit log: %w", err))
		}
		slices.Reverse(entries)
		out = append(out, entries[:min(len(entries), limit-len(out))]...)
	}
	return out, nil
}

// readFile reads the complete lines of a file.
func readFile(path string, before uint64) (out []Entry, err error) {
	err = disk.Lines(path, maxLine, func(line []byte) {
		var e Entry
		if json.Unmarshal(line, &e) == nil && e.Number != 0 && (before == 0 || e.Number < before) {
			out = append(out, e)
		}
	})
	return out, err
}

// Export writes all calls, oldest first, a line of JSON each.
func (l *Log) Export(to *bytes.Buffer) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	for n := l.files; n >= 0; n-- {
		b, err := os.ReadFile(l.older(n))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err == nil {
			_, err = to.Write(b)
		}
		if err != nil {
			return disk.Explain(l.path, fmt.Errorf("export the audit log: %w", err))
		}
	}
	return nil
}
