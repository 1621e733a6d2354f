package auth

import "github.com/sluicelb/sluice/mgmt/rbac"

// Principal is the sender of a request. It becomes the author of its changes.
type Principal struct {
	// Name is the name of the user; for a numbered key it includes the number.
	Name string
	// Source is the address the request came from, or "local".
	Source string
	// Who holds the rights of the sender.
	Who rbac.Identity
	// Session: identified by the cookie of a session, which a browser adds automatically.
	Session bool
	// Raised: the user of the session has recently confirmed password and second factor.
	Raised bool
	// epoch is the epoch of the user before the credentials were checked; nil if they were
	// not.
	epoch *rbac.Epoch
}

// May reports whether the principal has the permission.
func (p Principal) May(needed rbac.Permission) bool { return p.Who.May(needed) }
