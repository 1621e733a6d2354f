package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"time"

	"github.com/sluicelb/sluice/cmd/cli/show"
)

const (
	// tailLook is the polling interval of a followed file.
	tailLook = 250 * time.Millisecond
	// tailRead is the size of a read.
	tailRead = 64 << 10
)

// tail shows the end of a file.
type tail struct {
	path  string
	out   io.Writer
	clean bool // for a terminal
}

// show writes the last lines. With follow it also writes appended text until ctx ends,
// including that of a file that replaces a renamed one.
func (t *tail) show(ctx context.Context, lines int, follow bool) error {
	f, err := os.Open(t.path)
	switch {
	case errors.Is(err, fs.ErrNotExist) && follow:
	case errors.Is(err, fs.ErrNotExist):
		return nil // nothing was logged yet
	case err != nil:
		return err
	default:
		if err := lastLines(f, lines); err != nil {
			f.Close()
			return err
		}
	}
	for {
		if f != nil {
			if err := t.copy(f); err != nil {
				f.Close()
				return err
			}
		}
		if !follow {
			return f.Close()
		}
		select {
		case <-ctx.Done():
			if f != nil {
				f.Close()
			}
			return nil
		case <-time.After(tailLook):
		}
		if f, err = t.renewed(f); err != nil {
			return err
		}
	}
}

// renewed returns the file that has the name now. The rest of the previous one was shown.
func (t *tail) renewed(f *os.File) (*os.File, error) {
	now, err := os.Stat(t.path)
	if err != nil {
		return f, nil // between rename and creation
	}
	if f != nil {
		was, err := f.Stat()
		if err != nil {
			return f, err
		}
		at, err := f.Seek(0, io.SeekCurrent)
		if err != nil || os.SameFile(was, now) && at <= now.Size() {
			return f, err
		}
		if !os.SameFile(was, now) {
			if err := t.copy(f); err != nil {
				return f, err
			}
		}
		f.Close()
	}
	f, err = os.Open(t.path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return f, err
}

func (t *tail) copy(f *os.File) error {
	buf := make([]byte, tailRead)
	for {
		n, err := f.Read(buf)
		if n > 0 {
			b := buf[:n]
			if t.clean {
				b = []byte(show.Clean(string(b)))
			}
			if _, err := t.out.Write(b); err != nil {
				return err
			}
		}
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		}
	}
}

// jsonLines writes each line as an object.
type jsonLines struct {
	to   io.Writer
	part []byte // of an unfinished line
}

// Write implements io.Writer.
func (j *jsonLines) Write(b []byte) (int, error) {
	j.part = append(j.part, b...)
	for {
		line, rest, whole := bytes.Cut(j.part, []byte("\n"))
		if !whole {
			return len(b), nil
		}
		j.part = rest
		text, err := json.Marshal(map[string]string{"line": string(line)})
		if err != nil {
			return 0, err
		}
		if _, err := j.to.Write(append(text, '\n')); err != nil {
			return 0, err
		}
	}
}

// lastLines seeks to the start of the last lines.
func lastLines(f *os.File, lines int) error {
	end, err := f.Seek(0, io.SeekEnd)
	if err != nil {
		return err
	}
	buf := make([]byte, tailRead)
	left := lines + 1 // the end of the line before them counts, too
	for at := end; at > 0; {
		n := min(at, tailRead)
		at -= n
		if _, err := f.ReadAt(buf[:n], at); err != nil && !errors.Is(err, io.EOF) {
			return err
		}
		for i := int(n); ; {
			if i = bytes.LastIndexByte(buf[:i], '\n'); i < 0 {
				break
			}
			if left--; left == 0 {
				_, err := f.Seek(at+int64(i)+1, io.SeekStart)
				return err
			}
		}
	}
	_, err = f.Seek(0, io.SeekStart)
	return err
}
