package auth

// Right is what a route needs of the one who calls it.
type Right uint8

// The rights, each the least that its routes need.
const (
	// RightNone is the zero value and is given to nobody: a route that forgot
	// to name its right is closed, not open.
	RightNone Right = iota
	// RightRead sees configuration, states and statistics.
	RightRead
	// RightOperate starts and stops farms and takes backends out and in.
	RightOperate
	// RightConfigure changes the configuration.
	RightConfigure
	// RightAdmin handles API keys.
	RightAdmin
)

// String returns the word used in the API document.
func (r Right) String() string {
	switch r {
	case RightRead:
		return "read"
	case RightOperate:
		return "operate"
	case RightConfigure:
		return "configure"
	case RightAdmin:
		return "admin"
	default:
		return "none"
	}
}

// Principal is who asks: it becomes the author of what is changed.
type Principal struct {
	// Name is "root" on the local socket, otherwise the key's user and number.
	Name string
	// Source is the address the request came from, or "local".
	Source string
	// Root has every right.
	Root bool
}

// May reports whether the principal has the right.
func (p Principal) May(r Right) bool { return r != RightNone && p.Root }
