package document

import (
	"bytes"
	"slices"
	"sync"

	"github.com/sluicelb/sluice/core/farm"
)

// Texts compares successive configurations like Diff. Farms at the start and the end that are
// Same (farm.Farm) are neither written nor compared. So a change of one farm costs only the
// lines of that farm and its neighbours. The zero value is ready for use. Methods are safe for
// concurrent use.
type Texts struct {
	mu     sync.Mutex
	farms  map[farm.Key][]string // the lines of the last comparison, without large farms
	counts farm.Memo[*int]       // numbers of lines, for the heads of hunks; 0: not counted yet
}

// Diff returns the same as the function Diff.
func (t *Texts) Diff(old, now *farm.Config) string {
	t.mu.Lock()
	defer t.mu.Unlock()
	c := comparison{Texts: t, used: map[farm.Key][]string{}}
	defer func() { t.farms = c.used }()
	if !c.narrow(old, now) {
		return ""
	}
	if text, whole := c.diff(elide(c.old, c.now)); whole {
		return text
	}
	text, _ := unified(splitLines(encodeShown(old)), splitLines(encodeShown(now)), nil, nil)
	return text
}

// comparison is one call of Diff. Of the farms that both configurations share at the start and
// the end, old and now keep only those that may be context of a hunk.
type comparison struct {
	*Texts
	used          map[farm.Key][]string // the lines that the next comparison may need
	oldHead, head []string              // the lines before the first farm, of old and now
	old, now      *farm.Config
	skipped       int // lines of the farms left out at the start
}

// narrow selects the farms to compare. It returns false if there is no difference.
func (c *comparison) narrow(old, now *farm.Config) bool {
	c.oldHead, c.head = headLines(old), headLines(now)
	a, b := old.Farms, now.Farms
	start, end := 0, 0
	for start < min(len(a), len(b)) && a[start].Same(&b[start]) {
		start++
	}
	for end < min(len(a), len(b))-start && a[len(a)-1-end].Same(&b[len(b)-1-end]) {
		end++
	}
	sameHead, sameFarms := slices.Equal(c.oldHead, c.head), start == len(a) && start == len(b)
	switch {
	case sameHead && sameFarms:
		return false
	case sameFarms: // the first farms are context of the head's last change
		start, end = 0, len(a)
	case !sameHead:
		start, end = 0, 0
	}
	for lines := 0; start > 0 && lines < context+markLines; { // no hunk reaches the mark
		start--
		lines += c.atLeast(&b[start])
	}
	for lines := 0; end > 0 && lines < context; {
		end--
		lines += c.atLeast(&b[len(b)-1-end])
	}
	c.old, c.now = &farm.Config{Farms: a[start : len(a)-end]}, &farm.Config{Farms: b[start : len(b)-end]}
	c.skipped = c.count(b, start)
	return true
}

// diff returns the difference, or false if a hunk contains a mark.
func (c *comparison) diff(e *elided) (text string, whole bool) {
	old, now := c.old, c.now
	if e != nil {
		old, now = e.old, e.now
	}
	before, after := slices.Concat(c.oldHead, c.lines(old, e)), slices.Concat(c.head, c.lines(now, e))
	var skip marks
	if c.skipped > 0 {
		skip = marks{{len(c.head) - 1, c.skipped}}
	}
	return unified(before, after, slices.Concat(skip, e.marks(before)), slices.Concat(skip, e.marks(after)))
}

// headLines returns the lines of a document before its first farm.
func headLines(cfg *farm.Config) []string {
	head := *cfg
	head.Farms = nil
	lines := splitLines(encodeShown(&head))
	if len(cfg.Farms) > 0 {
		lines[len(lines)-1] = "farms:" // the list is not empty
	}
	return lines
}

// atLeast returns a lower bound of a farm's lines: exact, or enough for any hunk.
func (c *comparison) atLeast(f *farm.Farm) int {
	if isLarge(f) {
		return context + markLines
	}
	return len(c.linesOf(f))
}

// count returns the number of lines of the first n farms.
func (t *Texts) count(farms []farm.Farm, n int) (total int) {
	counts := t.counts.Of(farms, func(*farm.Farm) *int { return new(int) })
	for i := range n {
		if *counts[i] == 0 {
			*counts[i] = countLines(&farms[i])
		}
		total += *counts[i]
	}
	return total
}

// lines returns the lines of all farms of a configuration.
func (c *comparison) lines(cfg *farm.Config, e *elided) (out []string) {
	for i := range cfg.Farms {
		f := &cfg.Farms[i]
		if e != nil && e.made[f.Key()] {
			out = append(out, writtenLines(f)...)
		} else {
			out = append(out, c.linesOf(f)...)
		}
	}
	return out
}

// linesOf returns the lines of a farm.
func (c *comparison) linesOf(f *farm.Farm) []string {
	key := f.Key()
	lines, known := c.used[key]
	if !known {
		lines, known = c.farms[key]
	}
	if !known {
		lines = writtenLines(f)
	}
	if !isLarge(f) {
		c.used[key] = lines
	}
	return lines
}

// isLarge reports whether the lines of a farm are not cached, because they are several times as
// large as the farm.
func isLarge(f *farm.Farm) bool { return f.Records() >= manyRecords }

func writtenLines(f *farm.Farm) []string { return splitLines(written(f)) }

// recordText is the approximate length of a record's text in bytes.
const recordText = 96

// written returns the text of a farm in a document.
func written(f *farm.Farm) []byte {
	w := &yamlWriter{depth: 2}
	w.out.Grow(recordText * f.Records())
	walkFarm(f, w, shown)
	return w.out.Bytes()
}

// countLines returns the number of lines of a farm in a document. It does not write the records
// because there may be a million.
func countLines(f *farm.Farm) (n int) {
	if isLarge(f) {
		short := *f
		short.OwnZones()
		for i := range short.Zones().Zones {
			z := &short.Zones().Zones[i]
			if all := z.Len(); all > 0 {
				n += linesOfRecords(z, 1, all)
				z.SetRecords(z.Slice(0, 1))
			}
		}
		f = &short
	}
	return n + bytes.Count(written(f), []byte("\n"))
}
