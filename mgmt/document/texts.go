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

// fewGone is how many farms that are gone are no burden.
const fewGone = 64

// document is a document as it may be shown, by lines.
func (t *Texts) document(cfg *farm.Config) []string {
	head := *cfg
	head.Farms = nil
	out := splitLines(encodeShown(&head))
	if len(cfg.Farms) == 0 {
		return out
	}
	out[len(out)-1] = "farms:" // there are some
	if t.farms == nil || len(t.farms) > 2*len(cfg.Farms)+fewGone {
		t.farms = make(map[farm.Farm][]string, len(cfg.Farms)) // half of it is of farms that are gone
	}
	total := len(out)
	for i := range cfg.Farms {
		total += len(t.linesOf(&cfg.Farms[i]))
	}
	out = slices.Grow(out, total-len(out))
	for i := range cfg.Farms {
		out = append(out, t.farms[cfg.Farms[i]]...)
	}
	return out
}

// linesOf are those of a farm.
func (t *Texts) linesOf(f *farm.Farm) []string {
	lines, known := t.farms[*f]
	if !known {
		w := &yamlWriter{depth: 2}
		walkFarm(f, w, shown)
		lines = splitLines(w.out.Bytes())
		t.farms[*f] = lines
	}
	return lines
}
