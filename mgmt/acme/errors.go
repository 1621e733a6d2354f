package acme

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/mholt/acmez/v3/acme"

	"github.com/sluicelb/sluice/mgmt/hook"
)

// Kind says what a refused call can be answered with.
type Kind uint8

// Kinds of errors.
const (
	Invalid     Kind = iota // what was sent is wrong, or the authority says no
	Missing                 // the certificate, the farm or a free port 80 is not there
	Busy                    // another order is under way
	Unreachable             // the authority was not reached, or not done in time
)

// Error says why there is no certificate, for the operator. Whatever it is, the
// certificate and the farms are as they were. It never holds a secret.
type Error struct {
	Kind    Kind
	Message string
}

// Error returns the message.
func (e *Error) Error() string { return e.Message }

func refuse(kind Kind, format string, args ...any) error {
	return &Error{kind, fmt.Sprintf(format, args...)}
}

func invalid(format string, args ...any) error { return refuse(Invalid, format, args...) }

// explain turns what came of an order into an Error. What the authority says
// is foreign text.
func (m *Manager) explain(ctx context.Context, err error) error {
	var known *Error
	var problem acme.Problem
	var late outOfTime
	switch {
	case err == nil:
		return nil
	case errors.As(err, &known):
		return known
	case errors.As(context.Cause(ctx), &late):
		return refuse(Unreachable, "the authority did not finish within %s: nothing was changed; the last that happened: %s", time.Duration(late), show(err.Error()))
	case ctx.Err() != nil:
		return refuse(Unreachable, "the order was given up before it was finished: nothing was changed")
	case errors.As(err, &problem):
		return invalid("the authority refused: %s (%s)%s", show(problem.Detail), show(strings.TrimPrefix(problem.Type, acme.ProblemTypeNamespace)), subproblems(problem))
	}
	return refuse(Unreachable, "the authority cannot be asked: %s", show(err.Error()))
}

// outOfTime is the cause of a context that ended because an order took longer
// than that.
type outOfTime time.Duration

func (t outOfTime) Error() string { return "out of time: " + time.Duration(t).String() }

func subproblems(p acme.Problem) string {
	const most = 5
	var out strings.Builder
	for _, sub := range p.Subproblems[:min(most, len(p.Subproblems))] {
		out.WriteString("; " + show(sub.Identifier.Value) + ": " + show(sub.Detail))
	}
	return out.String()
}

// show makes a foreign text short and printable.
func show(s string) string { return hook.Shown(s) }
