package auth

import "github.com/sluicelb/sluice/mgmt/rbac"

// Principal is the sender of a request. It becomes the author of its changes.
type Principal struct {
	// Name is the name of the user; for a numbered key it includes the number.
	Name string
	// Source is the address the request came from, or "local".
	Source string
	// Who is the sender with its rights.
	Who rbac.Identity
	// Session means that the cookie of a session identified the sender. Browsers add it
	// automatically.
	Session bool
	// Raised means that the user has recently confirmed password and second factor in this
	// session.
	Raised bool
	// epoch is the epoch of the user before the credentials were checked; nil if they were
	// not.
	epoch *rbac.Epoch
}

// May reports whether the principal has the permission.
func (p Principal) May(needed rbac.Permission) bool { return p.Who.May(needed) }
