package auth

import "github.com/sluicelb/sluice/mgmt/rbac"

// Principal is the sender of a request: it becomes the author of what is changed.
type Principal struct {
	// Name is that of the user; of a numbered key, with its number.
	Name string
	// Source is the address the request came from, or "local".
	Source string
	// Who says what the sender may do.
	Who rbac.Identity
	// Session: known by the cookie of a session, which a browser adds by itself.
	Session bool
	// Raised: the user of the session has shown password and second factor again lately.
	Raised bool
	// epoch is that of the user before its credentials were checked; nil if they were not.
	epoch *rbac.Epoch
}

// May reports whether the principal has the permission.
func (p Principal) May(needed rbac.Permission) bool { return p.Who.May(needed) }
