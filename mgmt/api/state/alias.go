package state

import (
	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/mgmt/api/rest"
	"github.com/sluicelb/sluice/mgmt/rbac"
)

// Aliases returns the aliases visible to the caller: none without the permission to list
// them.
func Aliases(c *rest.Call) *farm.Aliases {
	if !c.By.Who.May(rbac.AliasList) {
		return &farm.Aliases{}
	}
	return &c.Config.System.Aliases
}
