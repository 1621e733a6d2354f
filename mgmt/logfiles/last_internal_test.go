package logfiles

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// tape is a simulated file of letters, with line ends at some places. It records how much
// was read at once.
type tape struct {
	ends   []int64
	reads  []int
	broken bool
}

func (t *tape) ReadAt(p []byte, at int64) (int, error) {
	if t.reads = append(t.reads, len(p)); t.broken {
		return 0, io.ErrNoProgress
	}
	for i := range p {
		p[i] = 'x'
	}
	for _, end := range t.ends {
		if i := end - at; i >= 0 && i < int64(len(p)) {
			p[i] = '\n'
		}
	}
	return len(p), nil
}

func TestOnlyTheEndOfALongFileIsRead(t *testing.T) {
	const most = 16 << 20
	doubled := []int{65536}
	for all := 65536; all < most; all *= 2 {
		doubled = append(doubled, all)
	}
	for name, c := range map[string]struct {
		size    int64
		n       int
		ends    []int64
		reads   []int
		lengths []int
	}{
		"few short lines":              {most, 2, []int64{most - 1, most - 3, most - 6}, []int{65536}, []int{2, 1}},
		"the line asked for is cut":    {most, 1, []int64{most - 1, most - 70_001}, []int{65536, 65536}, []int{69_999}},
		"a byte before what was read":  {65537, 9, []int64{2, 65536}, []int{65536, 1}, []int{2, 65533}},
		"too long":                     {2 * most, 9, []int64{2*most - 1}, doubled, []int{}},
		"too long, and a byte is left": {most + 1, 9, []int64{most - 1, most}, doubled, []int{0}},
	} {
		f := &tape{ends: c.ends}
		lines, err := last(f, c.size, c.n)
		lengths := []int{}
		for _, line := range lines {
			lengths = append(lengths, len(line))
		}
		if err != nil || !slices.Equal(f.reads, c.reads) || !slices.Equal(lengths, c.lengths) {
			t.Errorf("%s: lines of %v bytes after reading %v, %v", name, lengths, f.reads, err)
		}
	}
	if lines, err := last(&tape{broken: true}, 100, 1); !errors.Is(err, io.ErrNoProgress) {
		t.Errorf("a file that cannot be read: %q, %v", lines, err)
	}
}

func TestAnEmptyFileHasNoLineAndABlankOneHas(t *testing.T) {
	for text, want := range map[string]int{"": 0, "\n": 1, "a": 1, "a\n": 1, "\n\n": 2} {
		if lines, err := last(strings.NewReader(text), int64(len(text)), 9); err != nil || len(lines) != want {
			t.Errorf("%q: %q, %v", text, lines, err)
		}
	}
}

func TestReadingLeavesNoFileOpen(t *testing.T) {
	path := t.TempDir()
	if err := errors.Join(os.Mkdir(filepath.Join(path, "log"), 0o700), os.WriteFile(filepath.Join(path, "log/a.log"), []byte("a\n"), 0o600)); err != nil {
		t.Fatal(err)
	}
	root, err := os.OpenRoot(path)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	if _, err := (Dir{root}).Last("a.log", 1); err != nil {
		t.Fatal(err)
	}
	open, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Skip(err)
	}
	for _, fd := range open {
		if to, _ := os.Readlink("/proc/self/fd/" + fd.Name()); strings.HasSuffix(to, "a.log") && strings.HasPrefix(to, path) {
			t.Errorf("%s is open", to)
		}
	}
}

func TestTenThousandLinesCanBeRequested(t *testing.T) {
	if got := fmt.Sprint(MaxLines, maxLine, block, maxLast); got != "10000 65536 65536 16777216" {
		t.Errorf("the bounds are %s, want %s", got, "10000 65536 65536 16777216")
	}
}
