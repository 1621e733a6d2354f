package api

import "github.com/sluicelb/sluice/core/farm"

// FarmsTotal is how many farms there are.
type FarmsTotal struct {
	Number int `json:"number"`
}

func (s *Server) farmsTotal(c *call) (Object[FarmsTotal], error) {
	return Object[FarmsTotal]{Description: c.op.summary, Params: FarmsTotal{len(c.cfg.Farms)}}, nil
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

func (s *Server) moduleStatistics(c *call) (Object[ModuleStatistics], error) {
	var out ModuleStatistics
	n := &out.LSLB // http and l4xnat farms are all of it
	for i := range c.cfg.Farms {
		n.Total++
		switch s.status(&c.cfg.Farms[i]) {
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
