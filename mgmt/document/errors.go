package document

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
)

// Error is one problem of a document and its position.
type Error struct {
	Line, Column int // from 1; 0 if the position is unknown
	Err          error
}

// Error returns the position and the problem.
func (e *Error) Error() string {
	if e.Line == 0 {
		return e.Err.Error()
	}
	return fmt.Sprintf("line %d, column %d: %v", e.Line, e.Column, e.Err)
}

// Unwrap returns the problem, often a *validate.Error.
func (e *Error) Unwrap() error { return e.Err }

// maxProblems is the maximum number of reported problems of a document.
const maxProblems = 100

// problems collects the errors of a document.
type problems []error

func (p *problems) add(n *node, err error) {
	*p = append(*p, &Error{Line: n.line, Column: n.column, Err: err})
}

func (p *problems) addf(n *node, format string, args ...any) {
	p.add(n, fmt.Errorf(format, args...))
}

// err returns the problems sorted by position, or nil.
func (p problems) err() error {
	if len(p) == 0 {
		return nil
	}
	slices.SortStableFunc(p, func(a, b error) int {
		x, y := a.(*Error), b.(*Error)
		return cmp.Or(cmp.Compare(x.Line, y.Line), cmp.Compare(x.Column, y.Column))
	})
	if len(p) > maxProblems {
		more := len(p) - maxProblems
		p = append(p[:maxProblems:maxProblems], fmt.Errorf("and %d more problems", more))
	}
	return p
}

// Error returns one line per problem.
func (p problems) Error() string { return errors.Join(p...).Error() }

// Unwrap returns the problems.
func (p problems) Unwrap() []error { return p }

// Problems returns the individual problems that Decode or Load found; for another error it
// returns only that.
func Problems(err error) []error {
	if several, ok := errors.AsType[problems](err); ok {
		return several
	}
	return []error{err}
}
