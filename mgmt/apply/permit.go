package apply

import (
	"context"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/mgmt/resolve"
)

// Permit returns an error if the author may not make a change, else nil. before is the
// configuration in force, after the edited copy. Neither may be modified.
type Permit func(before, after *farm.Config) error

type permitKey struct{}

// WithPermit returns a context whose changes call permit after the edit. This covers drafts,
// documents, rollbacks and restorations, too.
func WithPermit(ctx context.Context, permit Permit) context.Context {
	return context.WithValue(ctx, permitKey{}, permit)
}

// OnBehalf returns a context for changes and plans of a user, whose names count for the user
// (resolve.WithSource).
func OnBehalf(ctx context.Context, user string) context.Context { return resolve.WithSource(ctx, user) }

// permitted calls the permit of ctx, if there is one.
func permitted(ctx context.Context, before, after *farm.Config) error {
	if permit, is := ctx.Value(permitKey{}).(Permit); is {
		return permit(before, after)
	}
	return nil
}
