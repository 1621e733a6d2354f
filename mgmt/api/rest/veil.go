package rest

import (
	"sync/atomic"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/mgmt/rbac"
	"github.com/sluicelb/sluice/mgmt/validate"
)

// Veil returns which credentials are hidden from the caller, i.e. those that the caller may
// not change.
func (c *Call) Veil() validate.Veil {
	v := validate.Veil{Headers: !c.By.Who.May(rbac.FarmModify), Checks: !c.By.Who.May(rbac.FarmguardianModify)}
	if v != (validate.Veil{}) && c.MayOfAll(rbac.ConfigApply) {
		return validate.Veil{}
	}
	return v
}

// MayOfAll reports whether the caller may do something that concerns all farms. The caller
// needs the permission and must see all farms.
func (c *Call) MayOfAll(p rbac.Permission) bool { return c.By.Who.May(p) && c.SeesAll() }

// veiled caches the current configuration as shown, by the kinds of hidden credentials.
type veiled struct {
	of    *farm.Config
	shown [4]atomic.Pointer[farm.Config]
}

// show returns the configuration as the caller may read it.
func (c *Call) show(cfg *farm.Config) *farm.Config {
	v := c.Veil()
	if v == (validate.Veil{}) {
		return cfg
	}
	last := c.host.veiled.Load()
	if last == nil || last.of != cfg {
		last = &veiled{of: cfg}
		c.host.veiled.Store(last)
	}
	at := &last.shown[0]
	if v.Headers {
		at = &last.shown[1]
	}
	if v.Checks && v.Headers {
		at = &last.shown[2]
	}
	if shown := at.Load(); shown != nil {
		return shown
	}
	shown := v.Apply(cfg)
	at.Store(shown)
	return shown
}
