package shell

import (
	"bufio"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
)

const (
	// most bounds the lines in a history.
	most = 1000
	// longest bounds the length of a line.
	longest = 64 << 10
)

// History holds the typed lines, in memory and in a file that only its owner can read.
type History struct {
	lines []string // oldest first
	file  *os.File // nil: in memory only
}

// OpenHistory reads the history in a file, which it creates if necessary. If it returns an
// error, the history is in memory only.
func OpenHistory(path string) (*History, error) {
	h := &History{}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return h, err
	}
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_APPEND|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0o600)
	if err != nil {
		return h, err
	}
	if err := h.use(f, path); err != nil {
		f.Close()
		return &History{}, err
	}
	return h, nil
}

func (h *History) use(f *os.File, path string) error {
	info, err := f.Stat()
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() {
		return fmt.Errorf("%s is no file", path)
	}
	if err := f.Chmod(0o600); err != nil {
		return err
	}
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, longest)
	for lines.Scan() {
		h.lines = append(h.lines, lines.Text())
	}
	if err := lines.Err(); err != nil {
		return err
	}
	h.file = f
	if len(h.lines) > 2*most { // rare, and before anything is added
		h.lines = h.lines[len(h.lines)-most:]
		return h.rewrite()
	}
	return nil
}

// rewrite replaces the file's contents by the lines in memory.
func (h *History) rewrite() error {
	if err := h.file.Truncate(0); err != nil {
		return err
	}
	_, err := h.file.WriteString(strings.Join(h.lines, "\n") + "\n")
	return err
}

// Keep adds a line unless it repeats the last one. Multi-line input is not kept, because it
// could not be shown as one line.
func (h *History) Keep(line string) error {
	if strings.ContainsAny(line, "\n\x00") || len(line) >= longest || len(h.lines) > 0 && h.lines[len(h.lines)-1] == line {
		return nil
	}
	h.lines = append(h.lines, line)
	if len(h.lines) > most {
		h.lines = slices.Delete(h.lines, 0, len(h.lines)-most)
	}
	if h.file == nil {
		return nil
	}
	_, err := h.file.WriteString(line + "\n")
	return err
}

// Len returns the number of lines.
func (h *History) Len() int { return len(h.lines) }

// At returns a line; 0 is the newest.
func (h *History) At(i int) string { return h.lines[len(h.lines)-1-i] }

// Close closes the file.
func (h *History) Close() error {
	if h.file == nil {
		return nil
	}
	if err := h.file.Close(); err != nil && !errors.Is(err, fs.ErrClosed) {
		return err
	}
	return nil
}
