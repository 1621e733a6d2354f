package farms

import (
	"fmt"
	"maps"
	"net"
	"net/netip"
	"slices"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/mgmt/api/rest"
	"github.com/sluicelb/sluice/mgmt/api/state"
	"github.com/sluicelb/sluice/mgmt/document"
	"github.com/sluicelb/sluice/mgmt/validate/field"
	"github.com/sluicelb/sluice/mgmt/validate/httpfarm"
	"github.com/sluicelb/sluice/mgmt/validate/profile"
)

// NewFarm is the response to the creation of a farm. Params holds the values sent.
type NewFarm struct {
	Description string      `json:"description"`
	Params      rest.Sent   `json:"params"`
	Interface   string      `json:"interface" doc:"Network interface with the VIP; empty for all interfaces"`
	Message     string      `json:"message"`
	Status      farm.Status `json:"status"`
	Warning     string      `json:"warning,omitempty" doc:"The farm is created, but parts of it cannot work"`
}

// newFarmFields lists the fields for creating a farm, for all profiles.
type newFarmFields struct{}

// Params lists the fields. A field that two profiles share appears twice.
func (of newFarmFields) Params() []field.Param { return paramsOf(of.Variants()) }

// Variants returns the fields by profile.
func (newFarmFields) Variants() []rest.Variant {
	return eachProfile(func(p descriptor) []rest.Variant { return []rest.Variant{{Profile: p.Name(), Of: p.Farm().Create}} })
}

// newFarmHelp is newFarmFields for help and client completion, where the profile is not yet
// known. Each name appears once.
type newFarmHelp struct{}

// Params lists the fields. The fields of http farms come first.
func (newFarmHelp) Params() (out []field.Param) {
	for _, p := range (newFarmFields{}).Params() {
		if !slices.ContainsFunc(out, func(known field.Param) bool { return known.Name == p.Name }) {
			out = append(out, p)
		}
	}
	return out
}

// decodeNewFarm decodes the creation of a farm with the table of its profile.
func decodeNewFarm(c *rest.Call) (field.Values[farm.Farm], error) {
	body, err := c.ReadObject()
	if err != nil {
		return field.Values[farm.Farm]{}, err
	}
	if len(body) == 0 {
		return field.Values[farm.Farm]{}, rest.Help(newFarmHelp{})
	}
	word, _ := body["profile"].(string)
	own := profileNamed(farm.Profile(word))
	for _, name := range slices.Sorted(maps.Keys(body)) {
		if err := ofAnother(name, own, "this", newBody); err != nil {
			return field.Values[farm.Farm]{}, err
		}
	}
	return own.Farm().Create.Decode("", body)
}

func (s *Resource) createFarm(c *rest.Call) (NewFarm, error) {
	values, err := decodeNewFarm(c)
	if err != nil {
		return NewFarm{}, err
	}
	name, source := values.Get("farmname").Text(), values.Get("copy_from").Text()
	if source != "" {
		sees := func() error {
			_, err := c.Visible(source)
			return err
		}
		if err := c.Require(sees); err != nil {
			return NewFarm{}, err
		}
	}
	var followed string
	c.Makes(name)
	_, err = c.Change(fmt.Sprintf("create farm %s", name), func(cfg *farm.Config) error {
		created, err := newFarm(cfg, source)
		if err != nil {
			return err
		}
		was := ownAddresses{source: addressesOf(&created).source}
		if err := values.Apply(&created); err != nil {
			return err
		}
		followed = httpfarm.FollowVersions(values, &created)
		if err := s.checkLocal(&created, was); err != nil {
			return err
		}
		if cfg.Farm(name) != nil {
			return rest.BadRequest("farmname: a farm named %s exists already", name)
		}
		cfg.Farms = append(cfg.Farms, created)
		return nil
	})
	if err != nil {
		return NewFarm{}, err
	}
	f, err := rest.FindFarm(c.Config, name)
	if err != nil {
		return NewFarm{}, err
	}
	params := rest.Sent(values.Sent())
	params["profile"], params["vip"], params["interface"] = state.ShownProfile(f), f.VIP.String(), interfaceOf(f.VIP)
	ProfileOf(f).created(f, params)
	return NewFarm{
		Description: c.Summary(), Params: params, Interface: interfaceOf(f.VIP), Status: s.deps.State.Status(f), Warning: c.Warning(profile.FarmPath(name), followed, c.Unshared()),
		Message: fmt.Sprintf("The farm %s has been created.", name),
	}, nil
}

// newFarm returns the initial farm: an empty one, or a full copy of source.
func newFarm(cfg *farm.Config, source string) (farm.Farm, error) {
	if source == "" {
		return farm.Farm{}, nil
	}
	from, err := rest.FindFarm(cfg, source)
	if err != nil {
		return farm.Farm{}, err
	}
	out := from.Clone()
	document.StripIDs(&out)
	return out, nil
}

// interfaceOf names the interface that has the address. It returns "" if there is none or
// the address is unspecified.
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
