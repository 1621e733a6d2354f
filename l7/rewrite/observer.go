package rewrite

import "github.com/sluicelb/sluice/l7/http1"

// Observer is notified of changes to heads. Arguments are valid during the call only.
type Observer interface {
	// Removed reports that the rule removed field i.
	Removed(h *http1.Head, i, rule int)
	// Replaced reports that the rule, counted over all lists, changed the value of field i
	// from before.
	Replaced(h *http1.Head, i, rule int, before []byte)
}

// Observe sets the observer of rules that run with s.
func (s *Scratch) Observe(o Observer) { s.observer = o }
