package eventlog

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/sluicelb/sluice/mgmt/disk"
)

// FileName is the name of the current file; the older one has the suffix .1.
const FileName = "events.log"

const (
	defaultSize = 1 << 20
	// maxWaiting is how many events may wait for the disk; further ones are lost and
	// counted.
	maxWaiting = 10_000
	// atOnce is how many events are written in one piece, to limit the size of the files.
	atOnce = 256
	// maxText is the greatest length of foreign texts, in bytes.
	maxText = 512
	// maxLine is longer than any line: a revision may change the greatest possible number
	// of farms.
	maxLine = 1 << 20
)

// Log holds the events of an appliance; make it with Open. Any goroutine may use it.
type Log struct {
	path string
	log  *slog.Logger
	now  func() time.Time
	size int64 // of a file

	mu      sync.Mutex // guards the following fields
	waiting []Event
	writing bool
	lost    int
	closed  bool
	done    sync.WaitGroup

	disk    sync.Mutex // guards the files and the following fields
	failing bool
}

// Open continues the events in a directory.
func Open(dir string, log *slog.Logger, now func() time.Time) *Log {
	return &Log{path: filepath.Join(dir, FileName), log: log, now: now, size: defaultSize}
}

// Add stores events, with the current time if they have none. It never waits for the disk.
func (l *Log) Add(list ...Event) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, e := range list {
		if l.closed || len(l.waiting) >= maxWaiting {
			l.lost++
			continue
		}
		if e.Time.IsZero() {
			e.Time = l.now()
		}
		e.Time = e.Time.UTC().Round(0)
		e.Text, e.Detail = cut(e.Text), cut(e.Detail)
		l.waiting = append(l.waiting, e)
	}
	if len(l.waiting) > 0 && !l.writing {
		l.writing = true
		l.done.Go(l.write)
	}
}

func cut(text string) string {
	if len(text) <= maxText {
		return text
	}
	end := maxText
	for end > 0 && text[end]&0xc0 == 0x80 {
		end--
	}
	return text[:end] + "…"
}

// write writes until no event is waiting.
func (l *Log) write() {
	for {
		l.disk.Lock() // before they are removed: a reader finds them in one of the two places
		l.mu.Lock()
		list, lost := l.waiting, l.lost
		if l.waiting, l.lost = nil, 0; len(list) > atOnce {
			list, l.waiting = list[:atOnce], list[atOnce:]
		}
		l.writing = len(list) > 0
		l.mu.Unlock()
		if len(list) == 0 {
			l.disk.Unlock()
			return
		}
		l.report(l.append(list), lost)
		l.disk.Unlock()
	}
}

// report logs once that events cannot be written, and once that they can again.
func (l *Log) report(err error, lost int) {
	if lost > 0 {
		l.log.Warn("events are not kept: too many wait for the disk", "number", lost)
	}
	if failing := err != nil; failing != l.failing {
		if l.failing = failing; failing {
			l.log.Error("events cannot be written: the timeline lacks them", "error", disk.Explain(l.path, err))
		} else {
			l.log.Info("events are written again")
		}
	}
}

// append writes and syncs lines in one piece. If that fails, the file does not change.
func (l *Log) append(list []Event) error {
	var lines []byte
	for _, e := range list {
		b, err := json.Marshal(e)
		if err != nil {
			return err
		}
		lines = append(append(lines, b...), '\n')
	}
	f, size, err := l.open(int64(len(lines)))
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = disk.Append(f, size, lines)
	return err
}

// open opens the current file, or a new one if it is full. It completes a line that was cut
// off by a crash of the machine.
func (l *Log) open(more int64) (f *os.File, size int64, err error) {
	if info, err := os.Stat(l.path); err == nil && info.Size() > 0 && info.Size()+more > l.size {
		if err := os.Rename(l.path, l.older()); err != nil {
			return nil, 0, err
		}
	}
	if f, err = os.OpenFile(l.path, os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o600); err != nil {
		return nil, 0, err
	}
	info, err := f.Stat()
	if err == nil {
		size = info.Size()
		err = endLine(f, size)
	}
	if err != nil {
		_ = f.Close()
		return nil, 0, err
	}
	return f, size, nil
}

func endLine(f *os.File, size int64) error {
	if size == 0 {
		return nil
	}
	var end [1]byte
	if _, err := f.ReadAt(end[:], size-1); err != nil || end[0] == '\n' {
		return err
	}
	_, err := f.Write([]byte{'\n'})
	return err
}

func (l *Log) older() string { return l.path + ".1" }

// Read returns the events since a time in the order of Add, including those that wait for
// the disk.
func (l *Log) Read(from time.Time) (out []Event, err error) {
	l.disk.Lock()
	defer l.disk.Unlock()
	for _, path := range []string{l.older(), l.path} {
		if out, err = read(path, from, out); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, disk.Explain(path, fmt.Errorf("read events: %w", err))
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, e := range l.waiting {
		if !e.Time.Before(from) {
			out = append(out, e)
		}
	}
	return out, nil
}

// read adds the events of a file. It skips invalid lines.
func read(path string, from time.Time, out []Event) ([]Event, error) {
	err := disk.Lines(path, maxLine, func(line []byte) {
		var e Event
		if json.Unmarshal(line, &e) == nil && e.Kind != "" && !e.Time.Before(from) {
			out = append(out, e)
		}
	})
	return out, err
}

// Close writes the waiting events; later events are lost.
func (l *Log) Close() {
	l.mu.Lock()
	l.closed = true
	l.mu.Unlock()
	l.done.Wait()
}
