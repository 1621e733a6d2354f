package numbers

import (
	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/mgmt/api/farms"
	"github.com/sluicelb/sluice/mgmt/api/rest"
)

// FarmsTotal is the number of farms.
type FarmsTotal struct {
	Number int `json:"number"`
}

func (s *Resource) farmsTotal(c *rest.Call) (rest.Object[FarmsTotal], error) {
	return rest.Object[FarmsTotal]{Description: c.Summary(), Params: FarmsTotal{len(c.Farms())}}, nil
}

// ModuleCounts counts the farms of a module by status. problem and maintenance count as
// problem, needed restart as up.
type ModuleCounts struct {
	Total    int `json:"total"`
	Up       int `json:"up"`
	Down     int `json:"down"`
	Critical int `json:"critical"`
	Problem  int `json:"problem"`
}

// ModuleStatistics counts the farms of each module.
type ModuleStatistics struct {
	LSLB ModuleCounts `json:"lslb"`
	GSLB ModuleCounts `json:"gslb"`
	DSLB ModuleCounts `json:"dslb"`
}

func (m *ModuleStatistics) of(in farms.Module) *ModuleCounts {
	return [...]*ModuleCounts{farms.LSLB: &m.LSLB, farms.GSLB: &m.GSLB, farms.DSLB: &m.DSLB}[in]
}

func (s *Resource) moduleStatistics(c *rest.Call) (rest.Object[ModuleStatistics], error) {
	var out ModuleStatistics
	shown, now := c.Farms(), s.deps.State.Now(c)
	for i := range shown {
		f := &shown[i]
		n := out.of(farms.ModuleOf(f))
		n.Total++
		switch status, _ := now.Look(f); status {
		case farm.StatusDown:
			n.Down++
		case farm.StatusCritical:
			n.Critical++
		case farm.StatusProblem, farm.StatusMaintenance:
			n.Problem++
		default:
			n.Up++
		}
	}
	return rest.Object[ModuleStatistics]{Description: c.Summary(), Params: out}, nil
}
