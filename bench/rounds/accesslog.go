package rounds

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"
)

// logTime is how long the last lines of an access log may take to reach its
// file.
const logTime = 3 * time.Second

// lineCounter counts the lines a file grows by.
type lineCounter struct {
	path   string // empty: nobody knows where the file is
	offset int64
}

// skip leaves out what is there already.
func (l *lineCounter) skip() { _, _ = l.count() }

// count returns how many lines came since it was called last. A file that is
// not there has none.
func (l *lineCounter) count() (n uint64, err error) {
	file, err := os.Open(l.path)
	if errors.Is(err, os.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	defer file.Close()
	if _, err := file.Seek(l.offset, io.SeekStart); err != nil {
		return 0, err
	}
	buf := make([]byte, 256<<10)
	for {
		size, err := file.Read(buf)
		n += uint64(bytes.Count(buf[:size], []byte("\n")))
		l.offset += int64(size)
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
	if l.path == "" {
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
