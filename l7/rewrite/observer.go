package rewrite

import "github.com/sluicelb/sluice/l7/http1"

// Observer is told what rules do to heads. What it is given is valid during the
// call.
type Observer interface {
	// Removed tells that the rule took field i out.
	Removed(h *http1.Head, i, rule int)
	// Replaced tells that the rule, counted over all lists, changed the value of
	// field i, which was before.
	Replaced(h *http1.Head, i, rule int, before []byte)
}

// Observe has rules that run with s tell o what they do.
func (s *Scratch) Observe(o Observer) { s.observer = o }
