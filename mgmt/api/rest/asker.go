package rest

import (
	"context"

	"github.com/sluicelb/sluice/mgmt/auth"
)

// Note collects information about a call for the audit log.
type Note struct {
	By       auth.Principal
	Source   string
	Message  string
	Revision uint64
	Quiet    bool // nothing changed: a query or a dry run
	Keep     bool // logged although it only reads
}

type noteKey struct{}

// WithNote attaches a note to a request.
func WithNote(ctx context.Context, n *Note) context.Context {
	return context.WithValue(ctx, noteKey{}, n)
}

// NoteOf returns the note of a request. Without one, it returns a note that nobody reads.
func NoteOf(ctx context.Context) *Note {
	if n, ok := ctx.Value(noteKey{}).(*Note); ok {
		return n
	}
	return &Note{}
}

type principalKey struct{}

// WithPrincipal stores the sender of the request.
func WithPrincipal(ctx context.Context, by auth.Principal) context.Context {
	return context.WithValue(ctx, principalKey{}, by)
}

// Asker returns the sender of a request that has not reached its operation yet.
func Asker(ctx context.Context) auth.Principal { return principal(ctx) }

// principal returns the sender of the request, or the zero value if the front has not set
// it.
func principal(ctx context.Context) auth.Principal {
	p, _ := ctx.Value(principalKey{}).(auth.Principal)
	return p
}
