package rounds

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/sluicelb/sluice/bench/cases"
)

// logTime bounds the wait for the last lines of an access log.
const logTime = 3 * time.Second

// logs reports whether an entrant must write an access log. A slice ends when its last
// line is in the file, because a separate writer may lag behind the loops.
func logs(c cases.Case, e *entrant) bool { return c.Feature == cases.AccessLog && !e.Plain }

// lineCounter counts new lines in files that match a pattern. Files are identified by
// inode, because rotation renames a full log.
type lineCounter struct {
	pattern string // empty: unknown
	offsets map[uint64]int64
}

// skip ignores existing lines.
func (l *lineCounter) skip() { _, _ = l.count() }

// count returns the number of lines since the last call. Missing files count as empty.
func (l *lineCounter) count() (n uint64, err error) {
	files, err := filepath.Glob(l.pattern)
	if err != nil {
		return 0, err
	}
	for _, name := range files {
		lines, err := l.file(name)
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			return n, err
		}
		n += lines
	}
	return n, nil
}

func (l *lineCounter) file(name string) (n uint64, err error) {
	file, err := os.Open(name)
	if err != nil {
		return 0, err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return 0, err
	}
	inode := info.Sys().(*syscall.Stat_t).Ino
	from := l.offsets[inode]
	if from > info.Size() {
		from = 0 // reused inode of a deleted file
	}
	offset, err := file.Seek(from, io.SeekStart)
	if err != nil {
		return 0, err
	}
	if l.offsets == nil {
		l.offsets = map[uint64]int64{}
	}
	buf := make([]byte, 256<<10)
	for {
		size, err := file.Read(buf)
		n += uint64(bytes.Count(buf[:size], []byte("\n")))
		offset += int64(size)
		l.offsets[inode] = offset
		if err == io.EOF {
			return n, nil
		}
		if err != nil {
			return n, err
		}
	}
}

// atLeast waits until the log has grown by that many lines. A contestant that omits lines
// does less work than the case requires.
func (l *lineCounter) atLeast(ctx context.Context, lines uint64) error {
	if l.pattern == "" {
		return errors.New("nobody knows where it writes its access log")
	}
	var seen uint64
	for deadline := time.Now().Add(logTime); ; {
		n, err := l.count()
		if err != nil {
			return fmt.Errorf("access log: %w", err)
		}
		if seen += n; seen >= lines {
			return nil
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("the access log has only %d lines for %d requests", seen, lines)
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(50 * time.Millisecond):
		}
	}
}
