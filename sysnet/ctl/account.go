package ctl

import "context"

// OpRootPassword is the operation of the part that knows the system's root
// (sysnet/account).
const OpRootPassword Op = "root-password"

// RootPassword asks whether a password, at most account.MaxPassword bytes, is that of
// root. A wrong one takes a second.
type RootPassword struct {
	Password string `json:"password"`
}

// RootPassword reports whether the password is that of the system's root.
func (c *Client) RootPassword(ctx context.Context, password string) (right bool, err error) {
	err = c.Ask(ctx, OpRootPassword, RootPassword{password}, &right)
	return right, err
}
