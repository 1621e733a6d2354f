package apply

import (
	"context"
	"errors"
)

// ErrRehearsed ends a change that was only to be tried: everything was checked that
// can be without doing it, and nothing was done.
var ErrRehearsed = errors.New("only tried: nothing was changed")

type rehearsal struct{}

// Rehearse makes changes with this context end before anything happens, with
// ErrRehearsed; what is wrong with them is said as ever.
func Rehearse(ctx context.Context) context.Context {
	return context.WithValue(ctx, rehearsal{}, true)
}

// Rehearsing reports whether changes with this context are only tried.
func Rehearsing(ctx context.Context) bool { return ctx.Value(rehearsal{}) != nil }
