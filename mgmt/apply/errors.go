package apply

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/sluicelb/sluice/mgmt/store"
)

// Errors that callers may distinguish, besides *validate.Error (400) and *Refused (409). After
// each of them, nothing has changed.
var (
	// ErrNotFound: the farm or revision does not exist (404).
	ErrNotFound = store.ErrNotFound
	// ErrConflict: the configuration has changed since the caller read it (412).
	ErrConflict = errors.New("the configuration was changed meanwhile")
	// ErrUnavailable: the engine or netd was unreachable or timed out (503); the change may be
	// retried.
	ErrUnavailable = errors.New("the engine is not available")
)

// Refused is a refusal by an engine or by netd (409), which keeps the previous configuration.
type Refused struct {
	// Reason names the component, the refused object and the cause.
	Reason string
	// Farms has the reasons by farm ID if individual farms were the cause.
	Farms map[uint32]string
}

// Error returns the reason, or the farms' reasons if there is none.
func (r *Refused) Error() string {
	if r.Reason != "" {
		return r.Reason
	}
	reasons := make([]string, 0, len(r.Farms))
	for id, reason := range r.Farms {
		reasons = append(reasons, fmt.Sprintf("farm %d: %s", id, reason))
	}
	slices.Sort(reasons)
	return "refused: " + strings.Join(reasons, "; ")
}
