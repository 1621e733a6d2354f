package link

import (
	"context"
	"errors"
	"fmt"
)

// SessionAct is the kind of a SessionChange.
type SessionAct uint8

const (
	DeleteSession SessionAct = iota + 1 // deletes the session of Key
	FlushSessions                       // deletes all except static sessions
	LearnSessions                       // adds the sessions of List
)

// MaxLearned is the maximum number of sessions in one LearnSessions.
const MaxLearned = 10_000

// SessionChange is a change to the sessions of one service, given by its stable number.
type SessionChange struct {
	Service uint32     `cbor:"1,keyasint"`
	Act     SessionAct `cbor:"2,keyasint"`
	Key     []byte     `cbor:"3,keyasint,omitempty"`
	// List is for LearnSessions and has at most MaxLearned entries.
	List []Session `cbor:"4,keyasint,omitempty"`
}

// ErrRefused means that the engine rejected a request. The wrapping error gives the
// reason.
var ErrRefused = errors.New("refused by the engine")

// ChangeSessions changes sessions in the engine and returns how many were changed. Like
// Sessions it may be cancelled at any time, but a change that was sent takes effect. An
// error that wraps ErrRefused means that nothing was changed.
func (c *Client) ChangeSessions(ctx context.Context, change SessionChange) (changed int, err error) {
	a, err := c.answerTo(ctx, &question{Service: change.Service, Change: &change})
	switch {
	case err != nil:
		return 0, fmt.Errorf("change sessions: %w", err)
	case a.Refused != "":
		return 0, fmt.Errorf("%w: %s", ErrRefused, a.Refused)
	}
	return a.Total, nil
}
