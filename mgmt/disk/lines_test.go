package disk_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/sluicelb/sluice/mgmt/disk"
)

// paper is a file with limited room, whose Truncate and Sync may fail.
type paper struct {
	content           string
	room              int
	synced            string
	uncuttable, lossy bool
}

var errFull, errOther = errors.New("full"), errors.New("other")

func (p *paper) Write(b []byte) (int, error) {
	n := min(len(b), p.room-len(p.content))
	if p.content += string(b[:n]); n < len(b) {
		return n, errFull
	}
	return n, nil
}

func (p *paper) Truncate(size int64) error {
	if p.uncuttable {
		return errOther
	}
	p.content = p.content[:size]
	return nil
}

func (p *paper) Sync() error {
	if p.lossy {
		return errOther
	}
	p.synced = p.content
	return nil
}

func TestLinesAreAppendedCompletelyOrNotAtAll(t *testing.T) {
	for name, c := range map[string]struct {
		paper
		content, synced string
		err             error
	}{
		"there is room": {paper{room: 9}, "one\ntwo\n", "one\ntwo\n", nil},
		"half a line":   {paper{room: 6}, "one\n", "", errFull},
		"nothing fits":  {paper{room: 4}, "one\n", "", errFull},
		"it stays half": {paper{room: 6, uncuttable: true}, "one\ntw", "", errFull},
		"not kept":      {paper{room: 9, lossy: true}, "one\ntwo\n", "", errOther},
	} {
		c.paper.content = "one\n"
		size, err := disk.Append(&c.paper, 4, []byte("two\n"))
		if c.paper.content != c.content || c.paper.synced != c.synced || size != int64(len(c.content)) || !errors.Is(err, c.err) {
			t.Errorf("%s: %q of %d bytes, kept %q, %v", name, c.paper.content, size, c.paper.synced, err)
		}
	}
}

func TestLinesAreReadInOrder(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lines")
	if err := os.WriteFile(path, []byte("a\n\nbcd\nhalf"), 0o600); err != nil {
		t.Fatal(err)
	}
	read := func(longest int) (out []string, err error) {
		err = disk.Lines(path, longest, func(line []byte) { out = append(out, string(line)) })
		return out, err
	}
	if all, err := read(100); fmt.Sprintf("%q", all) != `["a" "" "bcd" "half"]` || err != nil {
		t.Errorf("%q, %v", all, err)
	}
	if _, err := read(3); err == nil {
		t.Error("a line is longer than allowed")
	}
	path += ".none"
	if _, err := read(100); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("of no file: %v", err)
	}
}
