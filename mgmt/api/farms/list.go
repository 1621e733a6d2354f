package farms

import (
	"reflect"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/mgmt/api/rest"
	"github.com/sluicelb/sluice/mgmt/api/state"
	"github.com/sluicelb/sluice/mgmt/rbac"
	"github.com/sluicelb/sluice/mgmt/validate/profile"
)

func (s *Resource) listFarms(c *rest.Call) (rest.List[state.FarmLine], error) {
	now, mark, known := s.deps.State.Marked(c)
	farms := c.Farms()
	list := rest.ListOf("List farms", len(farms), func(i int) state.FarmLine { return now.Line(&farms[i]) })
	if known {
		list = list.Keep(&s.list, mark)
	}
	return list, nil
}

// farmsOf lists the farms of one module.
func (s *Resource) farmsOf(of Module) func(*rest.Call) (rest.List[state.FarmLine], error) {
	return func(c *rest.Call) (rest.List[state.FarmLine], error) {
		var in []*farm.Farm
		farms := c.Farms()
		for i := range farms {
			if f := &farms[i]; ModuleOf(f) == of {
				in = append(in, f)
			}
		}
		now := s.deps.State.Now(c)
		return rest.ListOf("List farms", len(in), func(i int) state.FarmLine { return now.Line(in[i]) }), nil
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

func (m *ModulesSummary) of(in Module) *[]ModuleFarm {
	return [...]*[]ModuleFarm{LSLB: &m.LSLB, GSLB: &m.GSLB, DSLB: &m.DSLB}[in]
}

func (s *Resource) modulesSummary(c *rest.Call) (rest.Object[ModulesSummary], error) {
	out := ModulesSummary{LSLB: []ModuleFarm{}, GSLB: []ModuleFarm{}, DSLB: []ModuleFarm{}}
	farms := c.Farms()
	for i := range farms {
		f := &farms[i]
		item := ModuleFarm{Name: f.Name, Profile: state.ShownProfile(f), Services: []string{}}
		for _, g := range f.Groups() {
			if g.OfService() {
				item.Services = append(item.Services, g.Name())
			}
		}
		in := out.of(ModuleOf(f))
		*in = append(*in, item)
	}
	out.LSLB, out.GSLB, out.DSLB = rest.Matching(c, out.LSLB), rest.Matching(c, out.GSLB), rest.Matching(c, out.DSLB)
	return rest.Object[ModulesSummary]{Description: "List farms of all modules", Params: out}, nil
}

func (s *Resource) farmOperations() []*rest.Operation {
	return []*rest.Operation{
		rest.Op(rest.Get, "/farms", rbac.Open, "List farms", s.listFarms),
		rest.Op(rest.Post, "/farms", rbac.FarmCreate, "Create a farm", s.createFarm).Body(newFarmFields{}).Refers().Created().Edits(),
		rest.Op(rest.Get, "/farms/modules/summary", rbac.Open, "List the farms of all modules", s.modulesSummary).Filters(reflect.TypeFor[ModuleFarm]()),
		rest.Op(rest.Get, "/farms/modules/lslb", rbac.Open, "List the farms of the LSLB module", s.farmsOf(LSLB)),
		rest.Op(rest.Get, "/farms/modules/gslb", rbac.Open, "List the farms of the GSLB module", s.farmsOf(GSLB)),
		rest.Op(rest.Get, "/farms/modules/dslb", rbac.Open, "List the farms of the DSLB module", s.farmsOf(DSLB)),
		rest.Op(rest.Get, "/farms/{farm}", rbac.Open, "Get a farm", s.getFarm).With(recordsQuery, aboutRecords),
		rest.Op(rest.Put, "/farms/{farm}", rbac.FarmModify, "Modify a farm", s.updateFarm).Body(farmFields{}).Edits(),
		rest.Op(rest.Delete, "/farms/{farm}", rbac.FarmDelete, "Delete a farm", s.deleteFarm).Edits().Forces(),
		rest.Op(rest.Get, "/farms/{farm}/summary", rbac.Open, "Get the summary of a farm", s.getFarmSummary),
		rest.Op(rest.Get, "/farms/{farm}/status", rbac.Open, "Get the status of a farm", s.getFarmStatus),
		rest.Op(rest.Put, "/farms/{farm}/actions", rbac.FarmAction, "Start, stop or restart a farm", s.actOnFarm).Body(&profile.FarmAction).Edits(),
	}
}
