package apply

import (
	"context"

	"github.com/sluicelb/sluice/core/farm"
)

// Permit reports why the author of a change may not make it; nil permits it. before is
// the configuration in force, after the edited copy. Neither is changed.
type Permit func(before, after *farm.Config) error

type permitKey struct{}

// WithPermit makes every change with this context ask permit once it is edited,
// whatever kind of change it is: of a draft, a document, a rollback or a restoration.
func WithPermit(ctx context.Context, permit Permit) context.Context {
	return context.WithValue(ctx, permitKey{}, permit)
}

// permitted returns the error of the permit of a context, if it has one.
func permitted(ctx context.Context, before, after *farm.Config) error {
	if permit, is := ctx.Value(permitKey{}).(Permit); is {
		return permit(before, after)
	}
	return nil
}
