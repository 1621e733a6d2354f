package document

import (
	"slices"
	"sync/atomic"

	"github.com/sluicelb/sluice/core/farm"
)

// Texts compares one configuration after the other, of which most farms are as they
// were: those are known again by where their settings lie (farm.Farm is comparable), and
// nobody may change them any more. The zero value knows nothing. Any goroutine may
// call its methods.
type Texts struct {
	last atomic.Pointer[map[farm.Farm][]string]
}

// Diff is the function Diff.
func (t *Texts) Diff(old, now *farm.Config) string {
	var known map[farm.Farm][]string
	if last := t.last.Load(); last != nil {
		known = *last
	}
	ofOld, ofNow := make(map[farm.Farm][]string, len(old.Farms)), make(map[farm.Farm][]string, len(now.Farms))
	before := documentLines(old, known, ofOld)
	after := documentLines(now, ofOld, ofNow)
	t.last.Store(&ofNow)
	if slices.Equal(before, after) {
		return ""
	}
	return unified(before, after)
}

// documentLines are the lines of a document as they may be shown, those of farms taken
// from known where it has them. made gets all of farms.
func documentLines(cfg *farm.Config, known, made map[farm.Farm][]string) []string {
	head := *cfg
	head.Farms = nil
	out := splitLines(encodeShown(&head))
	if len(cfg.Farms) == 0 {
		return out
	}
	out[len(out)-1] = "farms:" // there are some
	parts, total := make([][]string, len(cfg.Farms)), len(out)
	for i := range cfg.Farms {
		f := &cfg.Farms[i]
		lines, is := known[*f]
		if !is {
			w := &yamlWriter{depth: 2}
			walkFarm(f, w, shown)
			lines = splitLines(w.out.Bytes())
		}
		made[*f], parts[i] = lines, lines
		total += len(lines)
	}
	out = slices.Grow(out, total-len(out))
	for _, lines := range parts {
		out = append(out, lines...)
	}
	return out
}
