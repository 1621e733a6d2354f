//go:build !race

package server_test

import "testing"

func TestAnAnswerAllocatesNothing(t *testing.T) {
	a := newAppliance(t, 1, example())
	a.up(1, 2, 3)
	ask := a.engine.Answerer(7)
	for _, question := range costly {
		msg := query(t, question)
		if n := testing.AllocsPerRun(100, func() { ask(msg, client) }); n != 0 {
			t.Errorf("%s: %v allocations, want none", question, n)
		}
	}
}
