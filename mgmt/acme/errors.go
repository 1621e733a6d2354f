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

// Kind is the kind of an error.
type Kind uint8

// Kinds of errors.
const (
	Invalid     Kind = iota // invalid input, or rejected by the authority
	Missing                 // a missing certificate or farm, or no free port 80
	Busy                    // another order is in progress
	Unreachable             // the authority is unreachable or too slow
)

// Error explains to the operator why there is no certificate. The certificate and the farms
// are unchanged. It never contains a secret.
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

// explain converts the error of an order into an Error. Texts from the authority are
// untrusted.
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

// outOfTime is the cause of a context that exceeded the time limit of an order.
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

// show makes an untrusted text short and printable.
func show(s string) string { return hook.Shown(s) }
