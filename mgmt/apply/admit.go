package apply

import (
	"context"

	"github.com/sluicelb/sluice/core/farm"
)

// An author may lose rights, and the objects of a change may go, while the change waits for its
// turn or for name servers. So the author is admitted again whenever the change has the turn.

// Admission decides whether the author of a change may make it now.
type Admission struct {
	// Admit is called with the turn to write, before each attempt of the change. Its arguments
	// are the configuration in force, read-only, and its revision. Its error ends the change.
	Admit func(now *farm.Config, revision uint64) error
	// Rights returns a comparable value that differs after each change of the author's rights.
	// If they change while name servers are asked, the change starts again.
	Rights func() any
}

type admissionKey struct{}

// WithAdmission returns a context whose changes are admitted by a. That includes changes that
// write no revision, e.g. renewals, restarts and the end of a pending change.
func WithAdmission(ctx context.Context, a Admission) context.Context {
	return context.WithValue(ctx, admissionKey{}, a)
}

// WithoutAdmission returns a context whose changes need no Admission, e.g. to remove the parts of a
// change whose author has lost rights meanwhile.
func WithoutAdmission(ctx context.Context) context.Context {
	return context.WithValue(ctx, admissionKey{}, nil)
}

// admit calls the Admission of ctx, if there is one. The caller holds the turn.
func (a *Applier) admit(ctx context.Context) error {
	by, is := ctx.Value(admissionKey{}).(Admission)
	if !is {
		return nil
	}
	now := a.now.Load()
	return by.Admit(now.cfg, now.rev.Number)
}

// rightsOf returns the rights of the author of ctx, nil without an Admission.
func rightsOf(ctx context.Context) any {
	if by, is := ctx.Value(admissionKey{}).(Admission); is {
		return by.Rights()
	}
	return nil
}
