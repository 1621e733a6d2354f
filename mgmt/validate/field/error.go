package field

// Error is one violation: the object, the field and the rule.
type Error struct {
	// Path names the object, e.g. `farm "shop" service "web" backend 2`, "" for the whole
	// configuration. Backends count from 0.
	Path string
	// Field is the field name that the caller used, e.g. "vport".
	Field string
	// Message states the rule and the invalid value, starting with the field.
	Message string
}

// Error returns the path and the message.
func (e *Error) Error() string {
	if e.Path == "" {
		return e.Message
	}
	return e.Path + ": " + e.Message
}
