// Package logfiles reads the log files of an appliance: access logs of farms and the audit
// log, with their older parts, which may be compressed.
package logfiles

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/sluicelb/sluice/mgmt/accesslog"
	"github.com/sluicelb/sluice/mgmt/audit"
)

// auditName is the name of the audit log in lists, since a farm may have a file with its
// own name.
const auditName = "sluice-audit.log"

// MaxLines is how many lines can be requested at once.
const MaxLines = 10_000

const (
	// maxLast is how much of the end of a file is read, in bytes.
	maxLast = 16 << 20
	// maxLine is the greatest length of a line in a compressed file; a longer one is cut.
	maxLine = 64 << 10
	block   = 64 << 10
)

// ErrNone: the file does not exist.
var ErrNone = errors.New("the log does not exist")

// File is one file in the list.
type File struct {
	Name     string
	Modified time.Time
	Size     int64
}

// Dir is the data directory.
type Dir struct{ Root *os.Root }

// List returns all log files, the newest first.
func (d Dir) List() ([]File, error) {
	var out []File
	add := func(folder, prefix, begins string) error {
		entries, err := fs.ReadDir(d.Root.FS(), folder)
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		for _, e := range entries {
			info, infoErr := e.Info()
			if infoErr == nil && info.Mode().IsRegular() && strings.HasPrefix(e.Name(), begins) {
				out = append(out, File{prefix + e.Name(), info.ModTime(), info.Size()})
			}
		}
		return err
	}
	if err := errors.Join(add(accesslog.Folder, "", ""), add(".", strings.TrimSuffix(auditName, audit.FileName), audit.FileName)); err != nil {
		return nil, fmt.Errorf("list the logs: %w", err)
	}
	slices.SortFunc(out, func(a, b File) int {
		if n := b.Modified.Compare(a.Modified); n != 0 {
			return n
		}
		return strings.Compare(a.Name, b.Name)
	})
	return out, nil
}

// Open opens a file of the list without decompressing it. Errors: ErrNone.
func (d Dir) Open(name string) (*os.File, int64, error) {
	path := accesslog.Folder + "/" + name
	if rest, is := strings.CutPrefix(name, auditName); is {
		path = audit.FileName + rest
	}
	if name == "" || strings.Contains(name, "/") || name == "." || name == ".." {
		return nil, 0, ErrNone
	}
	info, err := d.Root.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) || err == nil && !info.Mode().IsRegular() {
		return nil, 0, ErrNone
	}
	if err != nil {
		return nil, 0, fmt.Errorf("open the log %s: %w", name, err)
	}
	f, err := d.Root.Open(path)
	if err != nil {
		return nil, 0, fmt.Errorf("open the log %s: %w", name, err)
	}
	return f, info.Size(), nil
}

// Last returns the last lines of a file, at most n, the newest first. If the end is very
// long, it returns fewer. Errors: ErrNone.
func (d Dir) Last(name string, n int) ([]string, error) {
	f, size, err := d.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var lines []string
	if strings.HasSuffix(name, ".gz") {
		lines, err = lastUnpacked(f, n)
	} else {
		lines, err = last(f, size, n)
	}
	if err != nil {
		return nil, fmt.Errorf("read the log %s: %w", name, err)
	}
	slices.Reverse(lines)
	return lines, nil
}

// last reads a file backwards from its end.
func last(f io.ReaderAt, size int64, n int) ([]string, error) {
	var end []byte
	at := size
	for at > 0 && bytes.Count(end, []byte{'\n'}) <= n && size-at < maxLast {
		piece := make([]byte, min(max(block, int64(len(end))), at)) // double the size: each byte is moved once or twice
		at -= int64(len(piece))
		if _, err := f.ReadAt(piece, at); err != nil {
			return nil, err
		}
		end = append(piece, end...)
	}
	lines := split(end)
	if at > 0 {
		lines = lines[1:] // its beginning was not read
	}
	return lines[max(len(lines)-n, 0):], nil
}

func split(text []byte) []string {
	if len(text) == 0 {
		return []string{}
	}
	return strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")
}

// lastUnpacked reads a whole compressed file, and keeps its last lines.
func lastUnpacked(f io.Reader, n int) ([]string, error) {
	unpacked, err := gzip.NewReader(f)
	if err != nil {
		return nil, err
	}
	lines := []string{}
	in := bufio.NewReaderSize(unpacked, maxLine)
	for {
		line, cut, err := in.ReadLine()
		switch {
		case err == io.EOF:
			return lines[max(len(lines)-n, 0):], nil
		case err != nil:
			return nil, err
		}
		if lines = append(lines, string(line)); len(lines) > 2*n {
			lines = slices.Clone(lines[len(lines)-n:])
		}
		for cut && err == nil {
			_, cut, err = in.ReadLine()
		}
	}
}
