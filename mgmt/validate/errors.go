package validate

import "strings"

// Error is one broken rule: which object, which field and what is allowed.
type Error struct {
	// Path names the object, e.g. `farm "shop" service "web" backend 2`; empty
	// for a rule about the configuration as a whole. Backends count from 0.
	Path string
	// Field is the name the caller used for the field, e.g. "vport".
	Field string
	// Message says the rule and the value that broke it, starting with the field.
	Message string
}

// Error returns the path and the message.
func (e *Error) Error() string {
	if e.Path == "" {
		return e.Message
	}
	return e.Path + ": " + e.Message
}

// Concerns reports whether a warning belongs into the answer about the object at path. A
// warning about the nattype of a farm is caused by its backends as well.
func (e *Error) Concerns(path string) bool {
	return e.Path == "" || e.Path == path || e.Field == "nattype" && strings.HasPrefix(path, e.Path+" ")
}
