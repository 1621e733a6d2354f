package link

import (
	"context"
	"errors"
	"fmt"
)

// SessionAct is what is done to sessions.
type SessionAct uint8

// The acts.
const (
	DeleteSession SessionAct = iota + 1 // Key is forgotten
	FlushSessions                       // all but the static ones are
	LearnSessions                       // those of List are as if their clients had come
)

// MaxLearned is how many sessions one change may have learned.
const MaxLearned = 10_000

// SessionChange is a change of the sessions of one service, by its number.
type SessionChange struct {
	Service uint32     `cbor:"1,keyasint"`
	Act     SessionAct `cbor:"2,keyasint"`
	Key     []byte     `cbor:"3,keyasint,omitempty"`
	// List belongs to LearnSessions: at most MaxLearned.
	List []Session `cbor:"4,keyasint,omitempty"`
}

// ErrRefused says that the engine did not make a change of sessions. The text
// around it says why.
var ErrRefused = errors.New("refused by the engine")

// ChangeSessions has the engine change sessions and says how many were. Like
// Sessions it may be given up at any time; what was sent is done nevertheless.
// An error that wraps ErrRefused means that nothing was changed.
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
