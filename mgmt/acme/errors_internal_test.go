package acme

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/mholt/acmez/v3/acme"
)

func TestOrderErrorsAreExplained(t *testing.T) {
	m, _ := newFakes(nil)
	ended, end := context.WithCancel(t.Context())
	end()
	late, stop := context.WithTimeoutCause(t.Context(), -1, outOfTime(2*time.Minute))
	defer stop()
	problem := acme.Problem{Type: acme.ProblemTypeNamespace + "rejectedIdentifier", Detail: "no\x1b[31m"}
	for range 6 {
		problem.Subproblems = append(problem.Subproblems, acme.Subproblem{Problem: acme.Problem{Detail: "policy"}, Identifier: acme.Identifier{Value: "a.test"}})
	}
	known := refuse(Missing, "known")
	for _, c := range []struct {
		ctx  context.Context
		err  error
		kind Kind
		text string
	}{
		{late, known, Missing, "known"},
		{t.Context(), errors.New("refused"), Unreachable, "the authority cannot be asked: refused"},
		{ended, errors.New("refused"), Unreachable, "the order was given up before it was finished: nothing was changed"},
		{late, errors.New("refused"), Unreachable, "the authority did not finish within 2m0s: nothing was changed; the last that happened: refused"},
		{t.Context(), acme.Problem{Type: acme.ProblemTypeNamespace + "badCSR", Detail: "no"}, Invalid, "the authority refused: no (badCSR)"},
		{t.Context(), problem, Invalid, "the authority refused: no·[31m (rejectedIdentifier)" + strings.Repeat("; a.test: policy", 5)},
	} {
		var got *Error
		if err := m.explain(c.ctx, c.err); !errors.As(err, &got) || got.Kind != c.kind || got.Message != c.text {
			t.Errorf("%v: got %v", c.err, err)
		}
	}
	if got := outOfTime(time.Minute).Error(); got != "out of time: 1m0s" {
		t.Errorf("the cause reads %q, want %q", got, "out of time: 1m0s")
	}
}

func TestForeignTextIsShortAndPrintable(t *testing.T) {
	for text, want := range map[string]string{
		"a\nb\xff": "a·b·", strings.Repeat("x", 400): strings.Repeat("x", 400), strings.Repeat("x", 401): strings.Repeat("x", 400) + "…",
		strings.Repeat("x", 399) + "üü": strings.Repeat("x", 399) + "…",
	} {
		if got := show(text); got != want {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
}
