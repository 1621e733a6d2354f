package api

import (
	"fmt"
	"net"
	"net/http"
	"net/netip"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/mgmt/apply"
	"github.com/sluicelb/sluice/mgmt/document"
	"github.com/sluicelb/sluice/mgmt/validate"
)

// FarmItem is a farm in a few words.
type FarmItem struct {
	FarmName string       `json:"farmname"`
	Profile  farm.Profile `json:"profile" doc:"https for an http farm whose listener speaks TLS"`
	Status   farm.Status  `json:"status"`
	VIP      string       `json:"vip"`
	VPort    uint16       `json:"vport"`
}

func (s *Server) farmItem(f *farm.Farm) FarmItem {
	return FarmItem{FarmName: f.Name, Profile: profile(f), Status: s.status(f), VIP: f.VIP.String(), VPort: f.VPort}
}

// FarmLine is a farm in the list and in the status of the appliance.
type FarmLine struct {
	FarmItem
	Problem string `json:"problem,omitempty" doc:"Why the farm does not run: what keeps it from running, or why its last start was refused"`
}

func (s *Server) farmLine(f *farm.Farm) FarmLine {
	return FarmLine{FarmItem: s.farmItem(f), Problem: s.serving(f).Problem}
}

// profile is the profile as the family shows it.
func profile(f *farm.Farm) farm.Profile {
	if f.HTTPS() {
		return profileHTTPS
	}
	return f.Profile
}

const profileHTTPS farm.Profile = "https"

func (s *Server) listFarms(c *call) (List[FarmLine], error) {
	var out []FarmLine
	for i := range c.cfg.Farms {
		out = append(out, s.farmLine(&c.cfg.Farms[i]))
	}
	return list("List farms", out), nil
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

func (s *Server) modulesSummary(c *call) (Object[ModulesSummary], error) {
	out := ModulesSummary{LSLB: []ModuleFarm{}, GSLB: []ModuleFarm{}, DSLB: []ModuleFarm{}}
	for i := range c.cfg.Farms {
		f := &c.cfg.Farms[i]
		item := ModuleFarm{Name: f.Name, Profile: profile(f), Services: []string{}}
		for _, service := range services(f) {
			item.Services = append(item.Services, service.Name)
		}
		out.LSLB = append(out.LSLB, item)
	}
	return Object[ModulesSummary]{Description: "List farms of all modules", Params: out}, nil
}

func services(f *farm.Farm) []farm.Service {
	if f.HTTP == nil {
		return nil
	}
	return f.HTTP.Services
}

// NewFarm is the answer to the creation of a farm.
type NewFarm struct {
	Description string        `json:"description"`
	Params      NewFarmParams `json:"params"`
	Interface   string        `json:"interface" doc:"Network interface that has the VIP; empty for every one"`
	Message     string        `json:"message"`
	Status      farm.Status   `json:"status"`
}

// NewFarmParams are the values the farm was created with.
type NewFarmParams struct {
	FarmName  string       `json:"farmname"`
	Profile   farm.Profile `json:"profile"`
	VIP       string       `json:"vip"`
	VPort     uint16       `json:"vport"`
	Interface string       `json:"interface"`
	CopyFrom  string       `json:"copy_from,omitempty"`
}

func (s *Server) createFarm(c *call) (NewFarm, error) {
	values, err := decode(c, &validate.FarmCreate)
	if err != nil {
		return NewFarm{}, err
	}
	name, source := values.Get("farmname").Text(), values.Get("copy_from").Text()
	_, err = c.change(fmt.Sprintf("create farm %s", name), func(cfg *farm.Config) error {
		created, err := newFarm(cfg, source)
		if err != nil {
			return err
		}
		if err := values.Apply(&created); err != nil {
			return err
		}
		if err := validate.LocalVIP(created.VIP, s.deps.LocalAddrs()); err != nil {
			return err
		}
		if cfg.Farm(name) != nil {
			return badRequest("farmname: a farm named %s exists already", name)
		}
		cfg.Farms = append(cfg.Farms, created)
		return nil
	})
	if err != nil {
		return NewFarm{}, err
	}
	f, err := findFarm(c.cfg, name)
	if err != nil {
		return NewFarm{}, err
	}
	iface := interfaceOf(f.VIP)
	return NewFarm{
		Description: c.op.summary, Interface: iface, Status: s.status(f),
		Message: fmt.Sprintf("The farm %s has been created.", name),
		Params:  NewFarmParams{FarmName: f.Name, Profile: f.Profile, VIP: f.VIP.String(), VPort: f.VPort, Interface: iface, CopyFrom: source},
	}, nil
}

// newFarm returns the farm a creation starts from: an empty one, or a copy of
// everything an existing one has.
func newFarm(cfg *farm.Config, source string) (farm.Farm, error) {
	if source == "" {
		return farm.Farm{}, nil
	}
	from, err := findFarm(cfg, source)
	if err != nil {
		return farm.Farm{}, err
	}
	out := from.Clone()
	document.StripIDs(&out)
	return out, nil
}

// interfaceOf names the network interface that has the address, "" when none
// has or the address means all of them.
func interfaceOf(vip netip.Addr) string {
	all, err := net.Interfaces()
	if err != nil {
		return ""
	}
	for _, one := range all {
		addrs, err := one.Addrs()
		if err != nil {
			continue
		}
		for _, a := range addrs {
			network, ok := a.(*net.IPNet)
			if addr, valid := netip.AddrFromSlice(networkIP(network, ok)); valid && addr.Unmap() == vip {
				return one.Name
			}
		}
	}
	return ""
}

func networkIP(n *net.IPNet, ok bool) net.IP {
	if !ok {
		return nil
	}
	return n.IP
}

func (s *Server) updateFarm(c *call) (Changed, error) {
	before, err := c.farm()
	if err != nil {
		return Changed{}, err
	}
	values, err := decodeBeside(c, &validate.FarmUpdate, rulesOfFarm(before))
	if err != nil {
		return Changed{}, err
	}
	name, newName := before.Name, values.Get("newfarmname").Text()
	if newName == "" {
		newName = name
	}
	_, err = c.change(fmt.Sprintf("modify farm %s", name), func(cfg *farm.Config) error {
		f, err := findFarm(cfg, name)
		if err != nil {
			return err
		}
		if newName != name {
			if err := mayRename(cfg, f, newName); err != nil {
				return err
			}
		}
		vip := f.VIP
		if err := values.Apply(f); err != nil {
			return err
		}
		if f.VIP != vip {
			return validate.LocalVIP(f.VIP, s.deps.LocalAddrs())
		}
		return nil
	})
	if err != nil {
		return Changed{}, err
	}
	f, err := findFarm(c.cfg, newName)
	if err != nil {
		return Changed{}, err
	}
	return Changed{
		Description: "Modify farm " + name, Params: values.Sent(), Status: s.status(f),
		Message: fmt.Sprintf("Some parameters have been changed in farm %s.", newName),
	}, nil
}

func mayRename(cfg *farm.Config, f *farm.Farm, name string) error {
	switch {
	case !f.Stopped:
		return badRequest("newfarmname: the farm %s is running, stop it before it is renamed", f.Name)
	case cfg.Farm(name) != nil:
		return badRequest("newfarmname: a farm named %s exists already", name)
	}
	return nil
}

func (s *Server) deleteFarm(c *call) (Done, error) {
	f, err := c.farm()
	if err != nil {
		return Done{}, err
	}
	name := f.Name
	_, err = c.change("delete farm "+name, func(cfg *farm.Config) error {
		for i := range cfg.Farms {
			if cfg.Farms[i].Name == name {
				cfg.Farms = append(cfg.Farms[:i], cfg.Farms[i+1:]...)
				return nil
			}
		}
		return notFound("the farm %s does not exist", name)
	})
	if err != nil {
		return Done{}, err
	}
	return done("Delete farm "+name, fmt.Sprintf("The farm %s has been deleted.", name)), nil
}

// ActionDone is the answer to an action on a farm.
type ActionDone struct {
	Action string      `json:"action"`
	Status farm.Status `json:"status"`
}

func (s *Server) actOnFarm(c *call) (Object[ActionDone], error) {
	f, err := c.farm()
	if err != nil {
		return Object[ActionDone]{}, err
	}
	values, err := decode(c, &validate.FarmAction)
	if err != nil {
		return Object[ActionDone]{}, err
	}
	name, action := f.Name, values.Get("action").Text()
	if err := s.act(c, name, action); err != nil {
		return Object[ActionDone]{}, err
	}
	if f, err = findFarm(c.cfg, name); err != nil {
		return Object[ActionDone]{}, err
	}
	return Object[ActionDone]{
		Description: "Actions of the farm " + name,
		Params:      ActionDone{Action: action, Status: s.status(f)},
		Message:     fmt.Sprintf("The action %s has been done on the farm %s.", action, name),
	}, nil
}

// act starts, stops or restarts. Both ways of starting verify the VIP first.
// What is stopped has nothing to be stopped for a restart: it is started.
func (s *Server) act(c *call, name, action string) error {
	f, err := findFarm(c.cfg, name)
	if err != nil {
		return err
	}
	if action == "restart" && !f.Stopped {
		return s.restart(c, name)
	}
	result, err := c.change(action+" farm "+name, func(cfg *farm.Config) error {
		f, err := findFarm(cfg, name)
		if err != nil {
			return err
		}
		f.Stopped = action == "stop"
		if f.Stopped {
			return nil
		}
		return validate.LocalVIP(f.VIP, s.deps.LocalAddrs())
	})
	if err != nil {
		return err
	}
	return s.mustRun(c, result, name, action)
}

func (s *Server) restart(c *call, name string) error {
	f, err := findFarm(c.cfg, name)
	if err != nil {
		return err
	}
	if err := validate.LocalVIP(f.VIP, s.deps.LocalAddrs()); err != nil {
		return err
	}
	expect, err := c.expected()
	if err != nil {
		return err
	}
	result, err := s.deps.Applier.Restart(c.ctx, c.author(), name)
	if result, err = c.keep(result, err, expect); err != nil {
		return err
	}
	return s.mustRun(c, result, name, "restart")
}

// mustRun refuses an action whose farm does not run afterwards although it
// should: the setting is kept, but who asked must know.
func (s *Server) mustRun(c *call, result apply.Result, name, action string) error {
	f, err := findFarm(c.cfg, name)
	if err != nil {
		return err
	}
	if problem := result.FarmErrors[f.ID]; problem != "" && action != "stop" {
		return refuse(http.StatusBadRequest, "the farm %s could not be started: %s", name, problem)
	}
	return nil
}
