package apply

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/sluicelb/sluice/mgmt/store"
)

// The errors a caller may want to tell apart, besides *validate.Error (400) and
// *Refused (409). Whatever the error, nothing was changed.
var (
	// ErrNotFound: the farm or revision the call is about does not exist (404).
	ErrNotFound = store.ErrNotFound
	// ErrConflict: the configuration is not the one the caller expected (412).
	ErrConflict = errors.New("the configuration was changed meanwhile")
	// ErrUnavailable: the engine or netd could not be asked or did not answer
	// in time (503); the change may be tried again.
	ErrUnavailable = errors.New("the engine is not available")
)

// Refused is the answer of an engine or of netd that said no (409): it runs
// the configuration before the change.
type Refused struct {
	// Reason says who refused what and why.
	Reason string
	// Farms holds the reasons by farm ID when single farms were the cause.
	Farms map[uint32]string
}

// Error returns the reason, or the farms' reasons when there is no other.
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
