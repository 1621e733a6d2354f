package farms

import (
	"fmt"
	"net/netip"
	"slices"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/mgmt/api/rest"
	"github.com/sluicelb/sluice/mgmt/apply"
	"github.com/sluicelb/sluice/mgmt/inline"
	"github.com/sluicelb/sluice/mgmt/validate/field"
	"github.com/sluicelb/sluice/mgmt/validate/httpfarm"
	"github.com/sluicelb/sluice/mgmt/validate/profile"
)

func (s *Resource) updateFarm(c *rest.Call) (rest.Changed, error) {
	before, err := c.Farm()
	if err != nil {
		return rest.Changed{}, err
	}
	values, err := decodeFarm(c, before)
	if err != nil {
		return rest.Changed{}, err
	}
	name, newName := before.Name, values.Get("newfarmname").Text()
	if newName == "" {
		newName = name
	}
	var followed string
	change := c.Change
	if newName == name {
		change = func(comment string, edit func(*farm.Config) error) (apply.Result, error) {
			return c.ChangeFarm(name, comment, edit)
		}
	}
	c.Renames(name, newName)
	_, err = change(fmt.Sprintf("modify farm %s", name), func(cfg *farm.Config) error {
		f, err := rest.FindFarm(cfg, name)
		if err != nil {
			return err
		}
		if err := sameProfile(f, before); err != nil {
			return err
		}
		if newName != name {
			if err := mayRename(cfg, newName); err != nil {
				return err
			}
		}
		was := addressesOf(f)
		if err := inline.Rename(cfg, f, func() error { return values.Apply(f) }); err != nil {
			return err
		}
		if newName != name {
			cfg.RenameDNSFarm(name, newName)
		}
		followed = httpfarm.FollowVersions(values, f)
		return s.checkLocal(f, was)
	})
	if err != nil {
		return rest.Changed{}, err
	}
	f, err := rest.FindFarm(c.Config, newName)
	if err != nil {
		return rest.Changed{}, err
	}
	return rest.Changed{
		Description: "Modify farm " + name, Params: values.Sent(), Status: s.deps.State.Status(f), Warning: c.Warning(profile.FarmPath(newName), followed),
		Message: fmt.Sprintf("Some parameters have been changed in farm %s.", newName),
	}, nil
}

// ownAddresses are the addresses of a farm that must be local.
type ownAddresses struct{ vip, source netip.Addr }

func addressesOf(f *farm.Farm) ownAddresses {
	return ownAddresses{vip: f.VIP, source: ProfileOf(f).source(f)}
}

// checkLocal refuses new addresses of f that are not local. Unchanged addresses are
// accepted, so that one that has disappeared since does not block other changes.
func (s *Resource) checkLocal(f *farm.Farm, was ownAddresses) error {
	now := addressesOf(f)
	if now.vip != was.vip {
		if err := profile.LocalVIP(now.vip, s.deps.LocalAddrs()); err != nil {
			return err
		}
	}
	if now.source == was.source {
		return nil
	}
	return profile.LocalSource(now.source, s.deps.LocalAddrs())
}

// farmFields lists the fields of farms of all profiles.
type farmFields struct{}

// Params lists the fields. A field that two profiles share appears twice.
func (of farmFields) Params() []field.Param { return paramsOf(of.Variants()) }

// Variants returns the fields by profile.
func (farmFields) Variants() []rest.Variant {
	return eachProfile(func(p descriptor) []rest.Variant { return []rest.Variant{{Profile: p.Name(), Of: p.Farm().Update}} })
}

// decodeFarm reads a change of a farm.
func decodeFarm(c *rest.Call, f *farm.Farm) (field.Values[farm.Farm], error) {
	own := ProfileOf(f)
	return decodeBeside(c, own.Farm().Update, own.rules(f), func(name string) error { return ofAnother(name, own, f.Name, changedBody) })
}

// newBody and changedBody return the bodies of POST and PUT.
func newBody(p descriptor) rest.Fields { return p.Farm().Create }

func changedBody(p descriptor) rest.Fields { return p.Farm().Update }

// ofAnother rejects a field that only another profile has. The error names that profile
// instead of calling the field unknown.
func ofAnother(name string, own descriptor, farmName string, body func(descriptor) rest.Fields) error {
	if has(body(own), name) {
		return nil
	}
	for _, other := range profiles {
		if of := body(other); of != nil && has(of, name) {
			return rest.BadRequest("%s is a field of %s farms, and %s is of profile %s", name, other.Name(), farmName, own.Name())
		}
	}
	return nil
}

// decodeOwn decodes a body with the table of the farm's profile. body returns the
// equivalent body of another profile, or nil.
func decodeOwn[T any](c *rest.Call, f *farm.Farm, table *field.Table[T], body func(descriptor) rest.Fields) (field.Values[T], error) {
	return decodeBeside(c, table, nil, func(name string) error { return ofAnother(name, ProfileOf(f), f.Name, body) })
}

// newService, changedService, newBackend and changedBackend return the bodies of POST and
// PUT for services and backends. The bodies of services are nil for profiles without
// services.
func newService(p descriptor) rest.Fields {
	if own := p.services(); own != nil {
		create, _ := own.bodies()
		return create
	}
	return nil
}

func changedService(p descriptor) rest.Fields {
	if own := p.services(); own != nil {
		_, update := own.bodies()
		return update
	}
	return nil
}

func newBackend(p descriptor) rest.Fields { return p.Backend().Create }

func changedBackend(p descriptor) rest.Fields { return p.Backend().Update }

func has(f rest.Fields, name string) bool {
	return slices.ContainsFunc(f.Params(), func(p field.Param) bool { return p.Name == name })
}

func mayRename(cfg *farm.Config, name string) error {
	if cfg.Farm(name) != nil {
		return rest.BadRequest("newfarmname: a farm named %s exists already", name)
	}
	return nil
}

func (s *Resource) deleteFarm(c *rest.Call) (rest.Done, error) {
	f, err := c.Farm()
	if err != nil {
		return rest.Done{}, err
	}
	name := f.Name
	_, err = c.Change("delete farm "+name, func(cfg *farm.Config) error {
		for i := range cfg.Farms {
			if cfg.Farms[i].Name == name {
				cfg.Farms = append(cfg.Farms[:i], cfg.Farms[i+1:]...)
				inline.Forget(cfg)
				return nil
			}
		}
		return rest.NotFound("the farm %s does not exist", name)
	})
	if err != nil {
		return rest.Done{}, err
	}
	out := rest.NewDone("Delete farm "+name, fmt.Sprintf("The farm %s has been deleted.", name))
	if g := f.Zones(); g != nil {
		out.Warning = trustWarnings(c, name, g.Zones...)
	}
	return out, nil
}
