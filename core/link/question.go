package link

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/sluicelb/sluice/core/explain"
)

// MaxSessions is the maximum number of sessions displayed at once. MaxCarried is the
// maximum number in one answer. With long keys an answer holds fewer, so that it fits a
// message.
const (
	MaxSessions = 1000
	MaxCarried  = 16_000
)

// Session is a persistence session in an answer. Its key may identify a client
// elsewhere, too (a cookie, a user name), so it must not be logged.
type Session struct {
	Key     []byte `cbor:"1,keyasint"`
	Backend uint32 `cbor:"2,keyasint"` // stable number
	// TTL is the remaining lifetime without use.
	TTL time.Duration `cbor:"3,keyasint,omitempty"`
	// Static sessions have no TTL. They exist until they are deleted.
	Static bool `cbor:"4,keyasint,omitempty"`
}

// question asks for the sessions of one service or, with one of the other fields set,
// for something else.
type question struct {
	Service uint32         `cbor:"1,keyasint"`
	Limit   int            `cbor:"2,keyasint,omitempty"`
	Change  *SessionChange `cbor:"3,keyasint,omitempty"`
	// Key selects one session instead of all.
	Key []byte `cbor:"4,keyasint,omitempty"`
	// Explain asks how a request would be handled.
	Explain *explain.Question `cbor:"5,keyasint,omitempty"`
	// Connections asks for connections of l4xnat farms.
	Connections *connectionQuestion `cbor:"6,keyasint,omitempty"`
	// Stacks asks for the stacks of the process.
	Stacks bool `cbor:"7,keyasint,omitempty"`
}

// answer is the engine's response to a question.
type answer struct {
	Total int       `cbor:"1,keyasint"`
	List  []Session `cbor:"2,keyasint,omitempty"`
	// Failed is the reason why there is no answer.
	Failed string `cbor:"3,keyasint,omitempty"`
	// Refused is the reason why nothing was changed or explained.
	Refused     string               `cbor:"4,keyasint,omitempty"`
	Explanation *explain.Explanation `cbor:"5,keyasint,omitempty"`
	Connections []Connection         `cbor:"6,keyasint,omitempty"`
	Text        string               `cbor:"7,keyasint,omitempty"`
}

// fits reports whether a is a valid answer to q.
func (a *answer) fits(q *asked) bool {
	return len(a.List) <= q.limit && a.Total >= len(a.List) && (a.Explanation == nil || q.explain) &&
		len(a.Connections) <= q.connections && a.Total >= len(a.Connections) && (a.Text == "" || q.stacks)
}

func bounded(limit int) int { return min(max(limit, 0), MaxCarried) }

// asked is a question that was sent and not answered yet.
type asked struct {
	limit       int
	explain     bool
	connections int
	stacks      bool
	answer      chan answer // buffered: the caller may have given up
}

// questionPatience is how long a question waits for socket buffer space. Space is
// lacking only if the engine has stopped reading. A publication must not wait for a
// question then.
const questionPatience = 100 * time.Millisecond

// Sessions returns the number of persistence sessions of a service, given by its stable
// number, and at most limit of them, never more than MaxCarried.
//
// Unlike Publish it may be cancelled at any time: the end of ctx affects neither the
// connection nor a publication in progress. Only one question is outstanding at a time,
// even if cancelled. An engine that hangs therefore gets no further questions.
func (c *Client) Sessions(ctx context.Context, service uint32, limit int) (total int, list []Session, err error) {
	a, err := c.answerTo(ctx, &question{Service: service, Limit: bounded(limit)})
	if err != nil {
		return 0, nil, fmt.Errorf("ask for sessions: %w", err)
	}
	return a.Total, a.List, nil
}

// Session returns the session of one key. ok is false if there is none. Cancellation
// works as for Sessions.
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

// Stacks returns the engine's goroutines and memory as text (stacks.Text). Cancellation
// works as for Sessions.
func (c *Client) Stacks(ctx context.Context) (text string, err error) {
	a, err := c.answerTo(ctx, &question{Stacks: true})
	if err != nil {
		return "", fmt.Errorf("ask for stacks: %w", err)
	}
	return a.Text, nil
}

// answerTo sends a question and waits for the answer.
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
		select { // the engine may have answered before it closed
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

// ask sends a question. The token of c.asking is returned with the answer, or here if
// nothing was sent.
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

// takeQuestion removes and returns the outstanding question, nil if there is none.
func (c *Client) takeQuestion() *asked {
	c.mu.Lock()
	defer c.mu.Unlock()
	q := c.asked
	c.asked = nil
	return q
}

// answered passes an answer to the caller waiting for it and permits the next question. It
// returns false if the answer has no question or has the wrong type.
func (c *Client) answered(a *answer) bool {
	q := c.takeQuestion()
	if q == nil || !a.fits(q) {
		return false
	}
	q.answer <- *a
	<-c.asking
	return true
}

// sessionRoom is the maximum encoded size of a session without its key, in bytes.
const sessionRoom = 24

// fitting returns the longest prefix of list that fits a message.
func fitting(list []Session) []Session {
	room := maxBody - 1<<10
	for i := range list {
		if room -= len(list[i].Key) + sessionRoom; room < 0 {
			return list[:i]
		}
	}
	return list
}
