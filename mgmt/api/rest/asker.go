package rest

import (
	"context"

	"github.com/sluicelb/sluice/mgmt/auth"
)

// Note is what a call tells the audit log of itself on its way.
type Note struct {
	By       auth.Principal
	Source   string
	Message  string
	Revision uint64
	Quiet    bool // it changed nothing: a question, or only tried
	Keep     bool // kept though it only reads
}

type noteKey struct{}

// WithNote gives a request its note.
func WithNote(ctx context.Context, n *Note) context.Context {
	return context.WithValue(ctx, noteKey{}, n)
}

// NoteOf is the note of a request; one that nobody reads where it has none.
func NoteOf(ctx context.Context) *Note {
	if n, ok := ctx.Value(noteKey{}).(*Note); ok {
		return n
	}
	return &Note{}
}

type principalKey struct{}

// WithPrincipal makes by the sender of the request.
func WithPrincipal(ctx context.Context, by auth.Principal) context.Context {
	return context.WithValue(ctx, principalKey{}, by)
}

// Asker is who sent a request that is not at its operation yet.
func Asker(ctx context.Context) auth.Principal { return principal(ctx) }

// principal returns the sender of the request; the zero one when front did not set it.
func principal(ctx context.Context) auth.Principal {
	p, _ := ctx.Value(principalKey{}).(auth.Principal)
	return p
}
