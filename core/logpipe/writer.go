package logpipe

import (
	"bytes"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

// MaxRecord is the longest record in the pipe, in bytes; of a longer text the
// beginning is kept. The kernel writes as much in one piece (PIPE_BUF).
const MaxRecord = 2048

// Open returns a pipe. Neither end waits; both are closed on exec, and by the caller.
func Open() (read, write *os.File, err error) {
	var ends [2]int
	if err := syscall.Pipe2(ends[:], syscall.O_CLOEXEC|syscall.O_NONBLOCK); err != nil {
		return nil, nil, fmt.Errorf("pipe for logs: %w", err)
	}
	return os.NewFile(uintptr(ends[0]), "logs read"), os.NewFile(uintptr(ends[1]), "logs written"), nil
}

// Writer writes records into a pipe. Any goroutine may call its methods. Make it with
// NewWriter.
type Writer struct {
	raw syscall.RawConn

	mu   sync.Mutex // guards what follows, and keeps records in order
	lost uint64     // records left out that nobody was told of
	line []byte
}

// NewWriter returns a Writer of an end that Open returned, here or in another
// process. The file stays the caller's.
func NewWriter(f *os.File) (*Writer, error) {
	raw, err := f.SyscallConn()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", f.Name(), err)
	}
	return &Writer{raw: raw}, nil
}

// Active implements Sink.
func (*Writer) Active() bool { return true }

// Take implements Sink: it writes a record, or leaves it out.
func (w *Writer) Take(r Record) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.lost > 0 && w.write(Record{slog.LevelWarn, r.Time, strconv.FormatUint(w.lost, 10) + " log lines were left out here: they were not read in time"}) {
		w.lost = 0
	}
	if w.lost > 0 || !w.write(r) {
		w.lost++
	}
}

// Said takes what a process wrote that made no records, as its runtime does when it
// dies. Each line begins with the name of the process: who was captured says what it
// likes there, but in its own name. Writing always succeeds.
func (w *Writer) Said(process string) io.Writer { return said{w, process} }

type said struct {
	*Writer
	process string
}

func (s said) Write(text []byte) (int, error) {
	for line := range bytes.Lines(text) {
		if line = bytes.TrimRight(line, "\r\n"); len(line) > 0 {
			s.Take(Record{slog.LevelError, time.Now(), s.process + " said: " + string(line)})
		}
	}
	return len(text), nil
}

// write reports whether the pipe took it. With the lock held.
func (w *Writer) write(r Record) (taken bool) {
	w.line = appendRecord(w.line[:0], r)
	err := w.raw.Write(func(fd uintptr) bool {
		n, err := syscall.Write(int(fd), w.line)
		taken = err == nil && n == len(w.line)
		return true // never wait
	})
	return taken && err == nil
}

// appendRecord appends a record as it is in the pipe: level, nanoseconds, text, end of
// line.
func appendRecord(dst []byte, r Record) []byte {
	start := len(dst)
	dst = append(strconv.AppendInt(dst, int64(r.Level), 10), ' ')
	dst = append(strconv.AppendInt(dst, r.Time.UnixNano(), 10), ' ')
	text := r.Text
	if strings.ContainsRune(text, '\n') {
		text = strings.ReplaceAll(text, "\n", `\x0a`)
	}
	dst = append(dst, text[:min(len(text), start+MaxRecord-1-len(dst))]...)
	return append(dst, '\n')
}
