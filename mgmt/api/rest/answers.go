package rest

import "github.com/sluicelb/sluice/core/farm"

// Besides List the shapes of successful answers: what was asked for sits under
// params.
type (
	// Object is an answer that holds one thing.
	Object[T any] struct {
		Description string      `json:"description"`
		Params      T           `json:"params"`
		Message     string      `json:"message,omitempty" doc:"What was done"`
		Status      farm.Status `json:"status,omitempty" doc:"Status of the farm after the change"`
		Warning     string      `json:"warning,omitempty" doc:"The change is kept, but something about it cannot work"`
	}
	// Done is the answer to a deletion.
	Done struct {
		Description string `json:"description"`
		Message     string `json:"message"`
		Success     string `json:"success" enum:"true"`
	}
	// Sent holds what was sent, in its normal form.
	Sent map[string]any
	// Changed is the answer to a change.
	Changed = Object[Sent]
)

// NewDone is the answer to a deletion.
func NewDone(description, message string) Done {
	return Done{Description: description, Message: message, Success: "true"}
}
