package disk

import (
	"bufio"
	"io"
	"os"
)

// Appendable is a file that lines are added to; *os.File opened for that is one.
type Appendable interface {
	io.Writer
	Truncate(size int64) error
	Sync() error
}

// Append adds whole lines to a file of size bytes, has the disk keep them, and returns
// how long the file is then. What cannot be written is taken back: half a line would
// spoil the next.
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

// Lines calls each for every line of a file, in order. A line of more than longest bytes
// is an error.
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
