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
	before := t.lines
	if t.of != old {
		before = t.document(old)
	}
	after := t.document(now)
	t.of, t.lines = now, after
	if slices.Equal(before, after) {
		return ""
	}
	return unified(before, after)
}

// fewGone is how many lines of farms that are gone are no burden.
const fewGone = 1 << 12

// document is a document as it may be shown, by lines.
func (t *Texts) document(cfg *farm.Config) []string {
	head := *cfg
	head.Farms = nil
	out := splitLines(encodeShown(&head))
	if len(cfg.Farms) == 0 {
		return out
	}
	out[len(out)-1] = "farms:" // there are some
	total := 0
	for i := range cfg.Farms {
		total += len(t.linesOf(&cfg.Farms[i]))
	}
	out = slices.Grow(out, total)
	for i := range cfg.Farms {
		out = append(out, t.farms[cfg.Farms[i]]...)
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
		farms[f] = t.farms[f]
		t.kept += len(farms[f])
	}
	t.farms = farms
}

// linesOf are those of a farm.
func (t *Texts) linesOf(f *farm.Farm) []string {
	lines, known := t.farms[*f]
	if !known {
		w := &yamlWriter{depth: 2}
		w.out.Grow(recordText * f.Records())
		walkFarm(f, w, shown)
		lines = splitLines(w.out.Bytes())
		if t.farms == nil {
			t.farms = map[farm.Farm][]string{}
		}
		t.farms[*f] = lines
		t.kept += len(lines)
	}
	return lines
}
