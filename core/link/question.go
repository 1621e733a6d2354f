package link

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/sluicelb/sluice/core/explain"
)

// MaxSessions is how many sessions are shown at one time; MaxCarried bounds the
// sessions of one answer. Of longer keys there are fewer: an answer ends before
// it is too long for a message.
const (
	MaxSessions = 1000
	MaxCarried  = 16_000
)

// Session is one persistence session in an answer. Its key may be what a client
// is recognised by elsewhere too (a cookie, a user's name): it is not for logs.
type Session struct {
	Key     []byte `cbor:"1,keyasint"`
	Backend uint32 `cbor:"2,keyasint"` // stable number
	// TTL is how long the session lives when nobody uses it.
	TTL time.Duration `cbor:"3,keyasint,omitempty"`
	// Static sessions have no TTL: they live until they are deleted.
	Static bool `cbor:"4,keyasint,omitempty"`
}

// question asks for the sessions of one service or, with one of the others set,
// for something else.
type question struct {
	Service uint32         `cbor:"1,keyasint"`
	Limit   int            `cbor:"2,keyasint,omitempty"`
	Change  *SessionChange `cbor:"3,keyasint,omitempty"`
	// Key asks for that one session instead of all.
	Key []byte `cbor:"4,keyasint,omitempty"`
	// Explain asks what would become of a request.
	Explain *explain.Question `cbor:"5,keyasint,omitempty"`
	// Connections asks for connections of l4xnat farms.
	Connections *connectionQuestion `cbor:"6,keyasint,omitempty"`
	// Stacks asks what the process is doing.
	Stacks bool `cbor:"7,keyasint,omitempty"`
}

// answer is what the engine says to a question.
type answer struct {
	Total int       `cbor:"1,keyasint"`
	List  []Session `cbor:"2,keyasint,omitempty"`
	// Failed says why there is no answer.
	Failed string `cbor:"3,keyasint,omitempty"`
	// Refused says why nothing was changed, or explained.
	Refused     string               `cbor:"4,keyasint,omitempty"`
	Explanation *explain.Explanation `cbor:"5,keyasint,omitempty"`
	Connections []Connection         `cbor:"6,keyasint,omitempty"`
	Text        string               `cbor:"7,keyasint,omitempty"`
}

// fits reports whether it can be the answer to that question.
func (a *answer) fits(q *asked) bool {
	return len(a.List) <= q.limit && a.Total >= len(a.List) && (a.Explanation == nil || q.explain) &&
		len(a.Connections) <= q.connections && a.Total >= len(a.Connections) && (a.Text == "" || q.stacks)
}

func bounded(limit int) int { return min(max(limit, 0), MaxCarried) }

// asked is a question that was sent and is not answered.
type asked struct {
	limit       int
	explain     bool
	connections int
	stacks      bool
	answer      chan answer // has room for it: nobody may be waiting any more
}

// questionPatience is how long a question waits for room in the socket. There
// is room unless the engine has stopped reading, and a publication must not
// wait behind a question then.
const questionPatience = 100 * time.Millisecond

// Sessions asks for the persistence sessions of a service by its number: how
// many there are, and at most limit of them, never more than MaxCarried.
//
// Unlike Publish it may be given up at any time: ctx ends the waiting and
// leaves the connection, and a publication under way, as they are. There is one
// unanswered question at a time, given up or not: to an engine that does not
// answer no more are sent.
func (c *Client) Sessions(ctx context.Context, service uint32, limit int) (total int, list []Session, err error) {
	a, err := c.answerTo(ctx, &question{Service: service, Limit: bounded(limit)})
	if err != nil {
		return 0, nil, fmt.Errorf("ask for sessions: %w", err)
	}
	return a.Total, a.List, nil
}

// Session asks for the session of one key, under the terms of Sessions. ok is
// false when there is none.
func (c *Client) Session(ctx context.Context, service uint32, key []byte) (s Session, ok bool, err error) {
	a, err := c.answerTo(ctx, &question{Service: service, Limit: 1, Key: key})
	if err != nil {
		return Session{}, false, fmt.Errorf("ask for a session: %w", err)
	}
	if len(a.List) == 0 {
		return Session{}, false, nil
	}
	return a.List[0], true, nil
}

// Stacks asks what the engine is doing, as stacks.Text says it, under the terms of
// Sessions.
func (c *Client) Stacks(ctx context.Context) (text string, err error) {
	a, err := c.answerTo(ctx, &question{Stacks: true})
	if err != nil {
		return "", fmt.Errorf("ask for stacks: %w", err)
	}
	return a.Text, nil
}

// answerTo waits for the engine's answer to a question.
func (c *Client) answerTo(ctx context.Context, question *question) (a answer, err error) {
	if err := c.take(ctx, c.asking); err != nil {
		return a, err
	}
	q := &asked{limit: question.Limit, explain: question.Explain != nil, stacks: question.Stacks, answer: make(chan answer, 1)}
	if question.Connections != nil {
		q.connections = question.Connections.Limit
	}
	if err := c.ask(ctx, question, q); err != nil {
		return a, err
	}
	select {
	case a = <-q.answer:
	case <-ctx.Done():
		return a, ctx.Err()
	case <-c.done:
		select { // the engine may have answered and gone
		case a = <-q.answer:
		default:
			return a, c.gone()
		}
	}
	if a.Failed != "" {
		return a, fmt.Errorf("the engine failed: %s", a.Failed)
	}
	return a, nil
}

// ask sends a question. The token of c.asking goes back with the answer, or
// here when nothing was sent.
func (c *Client) ask(ctx context.Context, question *question, q *asked) error {
	if err := c.take(ctx, c.writing); err != nil {
		<-c.asking
		return err
	}
	defer func() { <-c.writing }()
	c.mu.Lock()
	c.asked = q
	c.mu.Unlock()
	switch err := c.wire.writeWithin(questionPatience, &message{Ask: question}, nil); {
	case errors.Is(err, os.ErrDeadlineExceeded): // nothing was sent
		if c.takeQuestion() != nil {
			<-c.asking
		}
		return err
	case err != nil:
		c.end(err)
		return c.gone()
	}
	return nil
}

// takeQuestion returns the question that waits for its answer, nil when there is
// none; it waits no longer.
func (c *Client) takeQuestion() *asked {
	c.mu.Lock()
	defer c.mu.Unlock()
	q := c.asked
	c.asked = nil
	return q
}

// answered hands an answer to whoever asked, and lets the next one ask. It
// returns false when nobody did, or not for this.
func (c *Client) answered(a *answer) bool {
	q := c.takeQuestion()
	if q == nil || !a.fits(q) {
		return false
	}
	q.answer <- *a
	<-c.asking
	return true
}

// sessionRoom is what a session takes besides its key, in bytes, at most.
const sessionRoom = 24

// fitting are the first of list that fit a message.
func fitting(list []Session) []Session {
	room := maxBody - 1<<10
	for i := range list {
		if room -= len(list[i].Key) + sessionRoom; room < 0 {
			return list[:i]
		}
	}
	return list
}
