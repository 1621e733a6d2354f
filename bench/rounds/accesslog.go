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

// logTime is how long the last lines of an access log may take to reach its
// file.
const logTime = 3 * time.Second

// logs reports whether an entrant has to write an access log. A slice is over
// when its last line is in the file: what formats and writes lines beside the
// loops may be behind them.
func logs(c cases.Case, e *entrant) bool { return c.Feature == cases.AccessLog && !e.Plain }

// lineCounter counts the lines that files matching a pattern grow by. Files are
// known by their inode: a log that is full gets another name, and a new one its
// old name.
type lineCounter struct {
	pattern string // empty: nobody knows where the log is
	offsets map[uint64]int64
}

// skip leaves out what is there already.
func (l *lineCounter) skip() { _, _ = l.count() }

// count returns how many lines came since it was called last. Files that are
// not there have none.
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
		from = 0 // the inode of a file that was removed
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

// atLeast waits until the file has grown by that many lines: a contestant that
// leaves some out does less than the case asks for.
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
