package disk

import (
	"bufio"
	"io"
	"os"
)

// Appendable is a file that lines are appended to; *os.File opened for that is one.
type Appendable interface {
	io.Writer
	Truncate(size int64) error
	Sync() error
}

// Append appends whole lines to a file of size bytes, syncs it, and returns its new size. A
// failed write is reverted: an incomplete line would spoil the next.
func Append(f Appendable, size int64, lines []byte) (int64, error) {
	n, err := f.Write(lines)
	if err == nil {
		return size + int64(n), f.Sync()
	}
	if n > 0 && f.Truncate(size) != nil {
		return size + int64(n), err
	}
	return size, err
}

// Lines calls each for every line of a file, in order. A line of more than longest bytes is
// an error.
func Lines(path string, longest int, each func(line []byte)) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, longest)
	for lines.Scan() {
		each(lines.Bytes())
	}
	return lines.Err()
}
