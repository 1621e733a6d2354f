package api

import (
	"fmt"
	"net"
	"net/netip"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/mgmt/document"
	"github.com/sluicelb/sluice/mgmt/validate"
)

// FarmItem is a farm in a few words.
type FarmItem struct {
	FarmName string       `json:"farmname"`
	Profile  farm.Profile `json:"profile" doc:"https for an http farm whose listener speaks TLS"`
	Status   farm.Status  `json:"status"`
	VIP      string       `json:"vip"`
	VPort    VirtualPort  `json:"vport"`
}

func (s *Server) farmItem(f *farm.Farm) FarmItem {
	return FarmItem{FarmName: f.Name, Profile: profile(f), Status: s.status(f), VIP: f.VIP.String(), VPort: virtualPort(f)}
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
	Warning     string        `json:"warning,omitempty" doc:"The farm is there, but something about it cannot work"`
}

// NewFarmParams are the values the farm was created with.
type NewFarmParams struct {
	FarmName  string          `json:"farmname"`
	Profile   farm.Profile    `json:"profile"`
	VIP       string          `json:"vip"`
	VPort     VirtualPort     `json:"vport"`
	Protocol  farm.L4Protocol `json:"protocol,omitempty" doc:"Of an l4xnat farm"`
	Interface string          `json:"interface"`
	CopyFrom  string          `json:"copy_from,omitempty"`
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
	var protocol farm.L4Protocol
	if f.L4 != nil {
		protocol = f.L4.Protocol
	}
	return NewFarm{
		Description: c.op.summary, Interface: iface, Status: s.status(f), Warning: c.warning(validate.FarmPath(name)),
		Message: fmt.Sprintf("The farm %s has been created.", name),
		Params:  NewFarmParams{FarmName: f.Name, Profile: f.Profile, VIP: f.VIP.String(), VPort: virtualPort(f), Protocol: protocol, Interface: iface, CopyFrom: source},
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
