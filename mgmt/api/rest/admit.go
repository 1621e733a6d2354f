package rest

import (
	"net/http"

	"github.com/sluicelb/sluice/core/farm"
)

// A change may wait: for other changes, and for name servers. When it has the turn to write,
// the caller may have lost rights, a farm may belong to another group, and the revision of
// If-Match may be outdated. So everything that was checked at the start of the call is checked
// again under the lock of the Applier, with the configuration and the rights of that time.

// Require returns the error of check. It runs check again, with the current configuration in
// the call, when a change of the call has the turn to write.
func (c *Call) Require(check func() error) error {
	c.required = append(c.required, check)
	return check()
}

// admit implements apply.Admission.
func (c *Call) admit(now *farm.Config, revision uint64) error {
	by, holds := c.sender()
	switch {
	case holds:
		c.By = by
	case !c.acted: // otherwise what was begun then, e.g. the order of a certificate, is completed
		return Refuse(http.StatusUnauthorized, "the key or session of this request has ended: nothing was changed")
	}
	before := c.Config
	c.Config, c.Revision = now, revision
	if err := c.permitted(); err != nil {
		return err
	}
	if err := c.sameFarm(before); err != nil {
		return err
	}
	for _, check := range c.required {
		if err := check(); err != nil {
			return err
		}
	}
	if c.op.about != nil || c.acted {
		return nil // If-Match was checked under the lock of the document (within), or by Act
	}
	_, err := c.Expected()
	return err
}

// sameFarm rejects the change of a farm that was deleted since the handler looked at it, and
// created again by somebody.
func (c *Call) sameFarm(before *farm.Config) error {
	name := c.farmParam()
	if name == "" {
		return nil
	}
	was, is := before.Farm(name), c.Config.Farm(name)
	if was != nil && is != nil && was.ID != is.ID {
		return Refuse(http.StatusConflict,
			"the farm %s was deleted meanwhile, and created again: look at it and try again", Quote(name))
	}
	return nil
}

// rights returns a comparable value that changes with the rights of the caller.
func (c *Call) rights() any {
	by, holds := c.sender()
	return [2]any{by.Who, holds}
}
