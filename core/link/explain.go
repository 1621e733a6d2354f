package link

import (
	"context"
	"errors"
	"fmt"

	"github.com/sluicelb/sluice/core/explain"
)

// Explain asks what would become of a request, under the terms of Sessions. An
// error that wraps ErrRefused says what is wrong with the question, or that the
// engine does not serve the farm.
func (c *Client) Explain(ctx context.Context, q explain.Question) (*explain.Explanation, error) {
	a, err := c.answerTo(ctx, &question{Explain: &q})
	switch {
	case err != nil:
		return nil, fmt.Errorf("explain a request: %w", err)
	case a.Refused != "":
		return nil, fmt.Errorf("%w: %s", ErrRefused, a.Refused)
	case a.Explanation == nil:
		return nil, fmt.Errorf("explain a request: %w", errNoExplanation)
	}
	return a.Explanation, nil
}

var errNoExplanation = errors.New("the engine answered without an explanation")
