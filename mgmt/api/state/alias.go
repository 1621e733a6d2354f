package state

import (
	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/mgmt/api/rest"
	"github.com/sluicelb/sluice/mgmt/rbac"
)

// Aliases returns the aliases if the caller may list them, otherwise an empty list.
func Aliases(c *rest.Call) *farm.Aliases {
	if !c.By.Who.May(rbac.AliasList) {
		return &farm.Aliases{}
	}
	return &c.Config.System.Aliases
}
