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

// MaxRecord is the maximum length of a record in bytes; longer texts are truncated.
// Writes of this size are atomic (PIPE_BUF).
const MaxRecord = 2048

// Open returns a non-blocking pipe. Both ends are closed on exec; the caller must close
// them.
func Open() (read, write *os.File, err error) {
	var ends [2]int
	if err := syscall.Pipe2(ends[:], syscall.O_CLOEXEC|syscall.O_NONBLOCK); err != nil {
		return nil, nil, fmt.Errorf("pipe for logs: %w", err)
	}
	return os.NewFile(uintptr(ends[0]), "logs read"), os.NewFile(uintptr(ends[1]), "logs written"), nil
}

// Writer writes records into a pipe. It is safe for concurrent use. Writers are created
// by NewWriter.
type Writer struct {
	raw syscall.RawConn

	mu   sync.Mutex // guards the fields below, and the order of records
	lost uint64     // dropped records not reported yet
	line []byte
}

// NewWriter returns a Writer for the write end of a pipe from Open, which may be in
// another process. The file remains the caller's.
func NewWriter(f *os.File) (*Writer, error) {
	raw, err := f.SyscallConn()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", f.Name(), err)
	}
	return &Writer{raw: raw}, nil
}

// Active implements Sink.
func (*Writer) Active() bool { return true }

// Take implements Sink: it writes a record or drops it.
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

// Said returns a writer for the raw output of a process, e.g. of its runtime when it
// crashes. Each line is prefixed with the name of the process, so a compromised process
// cannot impersonate another. Writes always succeed.
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

// write reports whether the pipe accepted the record. w.mu must be held.
func (w *Writer) write(r Record) (taken bool) {
	w.line = appendRecord(w.line[:0], r)
	err := w.raw.Write(func(fd uintptr) bool {
		n, err := syscall.Write(int(fd), w.line)
		taken = err == nil && n == len(w.line)
		return true // do not wait
	})
	return taken && err == nil
}

// appendRecord appends a record in the format of the pipe: level, nanoseconds, text,
// newline.
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
