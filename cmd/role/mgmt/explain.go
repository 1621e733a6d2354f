package mgmt

import (
	"context"
	"errors"
	"fmt"

	"github.com/sluicelb/sluice/core/explain"
	"github.com/sluicelb/sluice/core/link"
	"github.com/sluicelb/sluice/mgmt/api/farms"
)

// explain asks the engine what would happen to a request.
func (m *manager) explain(ctx context.Context, q explain.Question) (*explain.Explanation, error) {
	ctx, cancel := context.WithTimeout(ctx, sessionsTimeout)
	defer cancel()
	e, err := m.publisher.Explain(ctx, q)
	if errors.Is(err, link.ErrRefused) {
		err = fmt.Errorf("%w: %w", farms.ErrNotExplained, err)
	}
	return e, err
}
