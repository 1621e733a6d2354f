package rest

import "github.com/sluicelb/sluice/core/farm"

// The types of successful responses, in addition to List. The payload is in params.
type (
	// Object is a response with one object.
	Object[T any] struct {
		Description string      `json:"description"`
		Params      T           `json:"params"`
		Message     string      `json:"message,omitempty" doc:"Action performed"`
		Status      farm.Status `json:"status,omitempty" doc:"Status of the farm after the change"`
		Warning     string      `json:"warning,omitempty" doc:"The change is saved, but parts of it cannot work"`
	}
	// Done is the response to a deletion.
	Done struct {
		Description string `json:"description"`
		Message     string `json:"message"`
		Success     string `json:"success" enum:"true"`
		Warning     string `json:"warning,omitempty" doc:"The object is deleted, but something may not work without it"`
	}
	// Sent holds the values of the request in normal form.
	Sent map[string]any
	// Changed is the response to a change.
	Changed = Object[Sent]
)

// NewDone returns the response to a deletion.
func NewDone(description, message string) Done {
	return Done{Description: description, Message: message, Success: "true"}
}
