package rest

import "slices"

// did collects what the changes of a call do, or those of all writes of a transaction.
type did struct {
	needs []string // permissions
}

type didKey struct{}

// collect adds the permission of the call to those that a change on trial needs.
func (c *Call) collect() {
	if c.did, _ = c.Context.Value(didKey{}).(*did); c.did == nil {
		c.did = &did{}
	}
	if need := string(c.op.Needs); !slices.Contains(c.did.needs, need) {
		c.did.needs = append(c.did.needs, need)
	}
}
