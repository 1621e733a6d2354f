package api

import "github.com/sluicelb/sluice/core/farm"

// FarmItem is a farm in a few words.
type FarmItem struct {
	FarmName string       `json:"farmname"`
	Profile  farm.Profile `json:"profile" doc:"https for an http farm whose listener speaks TLS"`
	Status   farm.Status  `json:"status"`
	VIP      string       `json:"vip"`
	VPort    string       `json:"vport" doc:"A text in lists, of an http farm too: clients of the family read nothing else there"`
}

func (s *Server) farmItem(f *farm.Farm) FarmItem {
	return FarmItem{FarmName: f.Name, Profile: shownProfile(f), Status: s.status(f), VIP: f.VIP.String(), VPort: f.PortsText()}
}

// FarmLine is a farm in the list and in the status of the appliance.
type FarmLine struct {
	FarmItem
	Problem string `json:"problem,omitempty" doc:"Why the farm does not run: what keeps it from running, or why its last start was refused"`
}

func (s *Server) farmLine(f *farm.Farm) FarmLine {
	return FarmLine{FarmItem: s.farmItem(f), Problem: s.problem(f)}
}

// shownProfile is the profile as the family shows it.
func shownProfile(f *farm.Farm) farm.Profile {
	if f.HTTPS() {
		return farm.ProfileHTTPS
	}
	return f.Profile
}

func (s *Server) listFarms(c *call) (List[FarmLine], error) {
	var out []FarmLine
	farms := c.farms()
	for i := range farms {
		out = append(out, s.farmLine(&farms[i]))
	}
	return list("List farms", out), nil
}

// farmsOf lists the farms of one module.
func (s *Server) farmsOf(of module) func(*call) (List[FarmLine], error) {
	return func(c *call) (List[FarmLine], error) {
		var out []FarmLine
		farms := c.farms()
		for i := range farms {
			if profileOf(&farms[i]).module() == of {
				out = append(out, s.farmLine(&farms[i]))
			}
		}
		return list("List farms", out), nil
	}
}

// ModuleFarm is a farm in the summary of modules.
type ModuleFarm struct {
	Name     string       `json:"name"`
	Profile  farm.Profile `json:"profile"`
	Services []string     `json:"services"`
}

// ModulesSummary groups all farms by module.
type ModulesSummary struct {
	LSLB []ModuleFarm `json:"lslb"`
	GSLB []ModuleFarm `json:"gslb"`
	DSLB []ModuleFarm `json:"dslb"`
}

func (m *ModulesSummary) of(in module) *[]ModuleFarm {
	return [...]*[]ModuleFarm{lslb: &m.LSLB, gslb: &m.GSLB, dslb: &m.DSLB}[in]
}

func (s *Server) modulesSummary(c *call) (Object[ModulesSummary], error) {
	out := ModulesSummary{LSLB: []ModuleFarm{}, GSLB: []ModuleFarm{}, DSLB: []ModuleFarm{}}
	farms := c.farms()
	for i := range farms {
		f := &farms[i]
		item := ModuleFarm{Name: f.Name, Profile: shownProfile(f), Services: []string{}}
		for _, g := range f.Groups() {
			if g.OfService() {
				item.Services = append(item.Services, g.Name())
			}
		}
		in := out.of(profileOf(f).module())
		*in = append(*in, item)
	}
	return Object[ModulesSummary]{Description: "List farms of all modules", Params: out}, nil
}
