package api

import "github.com/sluicelb/sluice/core/farm"

// FarmsTotal is how many farms there are.
type FarmsTotal struct {
	Number int `json:"number"`
}

func (s *Server) farmsTotal(c *call) (Object[FarmsTotal], error) {
	return Object[FarmsTotal]{Description: c.op.summary, Params: FarmsTotal{len(c.farms())}}, nil
}

// ModuleCounts is the farms of a module by what they can do: problem and
// maintenance count as problem, needed restart as up.
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

func (m *ModuleStatistics) of(in module) *ModuleCounts {
	return [...]*ModuleCounts{lslb: &m.LSLB, gslb: &m.GSLB, dslb: &m.DSLB}[in]
}

func (s *Server) moduleStatistics(c *call) (Object[ModuleStatistics], error) {
	var out ModuleStatistics
	farms := c.farms()
	for i := range farms {
		f := &farms[i]
		n := out.of(profileOf(f).module())
		n.Total++
		switch s.status(f) {
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
	return Object[ModuleStatistics]{Description: c.op.summary, Params: out}, nil
}
