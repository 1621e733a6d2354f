package document

import (
	"slices"
	"sync"

	"github.com/sluicelb/sluice/core/farm"
)

// Texts compares configurations as Diff does, for who compares each with the one before:
// a farm that is another only now is written once, and a document that was compared last is
// there. Farms are known again by where their settings lie. The zero value is ready; any
// goroutine may use it.
type Texts struct {
	mu    sync.Mutex
	farms map[farm.Farm][]string
	kept  int          // lines of farms
	of    *farm.Config // which was compared last
	lines []string     // of its document
}

// Diff is the function Diff.
func (t *Texts) Diff(old, now *farm.Config) string {
	t.mu.Lock()
	defer t.mu.Unlock()
	if e := elide(old, now); e != nil {
		if text, whole := t.diff(e.old, e.now, e); whole {
			return text
		}
	}
	text, _ := t.diff(old, now, nil)
	return text
}

// diff is the difference of two configurations, false where a mark of e is in it.
func (t *Texts) diff(old, now *farm.Config, e *elided) (text string, whole bool) {
	before := t.lines
	if t.of != old {
		before = t.document(old, e)
	}
	after := t.document(now, e)
	if t.of, t.lines = now, after; slices.ContainsFunc(now.Farms, isLarge) || e != nil {
		t.of, t.lines = nil, nil
	}
	if slices.Equal(before, after) {
		return "", true
	}
	return unified(before, after, e.marks(before), e.marks(after))
}

// isLarge reports whether the lines of a farm are not kept: they are several times as large
// as the farm.
func isLarge(f farm.Farm) bool { return f.Records() >= manyRecords }

// fewGone is how many lines of farms that are gone are no burden.
const fewGone = 1 << 12

// document is a document as it may be shown, by lines.
func (t *Texts) document(cfg *farm.Config, e *elided) []string {
	head := *cfg
	head.Farms = nil
	out := splitLines(encodeShown(&head))
	if len(cfg.Farms) == 0 {
		return out
	}
	out[len(out)-1] = "farms:" // there are some
	total := 0
	for i := range cfg.Farms {
		lines := t.linesOf(&cfg.Farms[i], e)
		out, total = append(out, lines...), total+len(lines)
	}
	if t.kept > 2*total+fewGone { // half of it is of farms that are gone
		t.keep(cfg)
	}
	return out
}

// recordText is about as long as the text of most records, in bytes.
const recordText = 96

// keep forgets the farms a configuration does not have.
func (t *Texts) keep(cfg *farm.Config) {
	farms := make(map[farm.Farm][]string, len(cfg.Farms))
	t.kept = 0
	for _, f := range cfg.Farms {
		if _, is := t.farms[f]; !is {
			continue
		}
		farms[f] = t.farms[f]
		t.kept += len(farms[f])
	}
	t.farms = farms
}

// linesOf are those of a farm.
func (t *Texts) linesOf(f *farm.Farm, e *elided) []string {
	lines, known := t.farms[*f]
	if !known {
		w := &yamlWriter{depth: 2}
		w.out.Grow(recordText * f.Records())
		walkFarm(f, w, shown)
		lines = splitLines(w.out.Bytes())
		if isLarge(*f) || e != nil && e.made[*f] {
			return lines
		}
		if t.farms == nil {
			t.farms = map[farm.Farm][]string{}
		}
		t.farms[*f] = lines
		t.kept += len(lines)
	}
	return lines
}
