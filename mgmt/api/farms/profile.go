package farms

import (
	"encoding/json"
	"net/netip"
	"reflect"
	"slices"

	"github.com/sluicelb/sluice/core/explain"
	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/mgmt/api/rest"
	"github.com/sluicelb/sluice/mgmt/validate"
)

// profile is what the API knows of the farms of one profile, besides their rules.
// A new one is a type, in a file of its own, and a line in profiles.
type profile interface {
	validate.Profile

	// words are what farms of the profile are called in answers and filters;
	// module is the one they are listed in.
	words() []farm.Profile
	module() Module
	// details and summary are the answers about a farm, shapes their types; known are
	// the aliases who asks may see.
	details(s *Resource, known *farm.Aliases, description string, f *farm.Farm) any
	summary(s *Resource, known *farm.Aliases, description string, f *farm.Farm) any
	shapes() (details, summary reflect.Type)
	// services are those of the farms, nil where backends are the farm's own; backend
	// is the answer about the one at a position of a group, backendShape its type.
	services() services
	backend(s *Resource, known *farm.Aliases, g farm.Group, position int) any
	backendShape() reflect.Type
	// created adds to the fields a farm was created with those it has whether
	// they were sent or not.
	created(f *farm.Farm, params rest.Sent)
	// source is the address backends see, if the farm has one that must be of
	// this machine.
	source(f *farm.Farm) netip.Addr
	// rules is how many items each list has that is changed item by item.
	rules(f *farm.Farm) map[string]int
	// mayHaveCertificates says why the farm has no certificates.
	mayHaveCertificates(f *farm.Farm) error
	// carrying says what carries the farm, and why; question reads a request, or a
	// connection, that is to be explained.
	carrying(f *farm.Farm) FarmExplanation
	question(body map[string]any) (explain.Question, error)
}

var profiles = []profile{
	httpFarms{validate.ProfileNamed(farm.ProfileHTTP)},
	l4Farms{validate.ProfileNamed(farm.ProfileL4)},
	dnsFarms{validate.ProfileNamed(farm.ProfileGSLB)},
}

// ProfileOf is the profile of a farm.
func ProfileOf(f *farm.Farm) profile { return profileNamed(validate.ProfileOf(f).Name()) }

func profileNamed(name farm.Profile) profile {
	return profiles[max(0, slices.IndexFunc(profiles, func(p profile) bool { return p.Name() == name }))]
}

// ModuleOf is the module a farm is listed in.
func ModuleOf(f *farm.Farm) Module { return ProfileOf(f).module() }

// ProfileWords are what the profiles of farms are called in answers and filters.
func ProfileWords() []farm.Profile { return eachProfile(profile.words) }

// eachProfile puts together what the profiles say, in their order.
func eachProfile[T any](say func(profile) []T) (all []T) {
	for _, p := range profiles {
		all = append(all, say(p)...)
	}
	return all
}

// details and summary are answers about one farm, in the shape of its profile.
type (
	details struct{ of any }
	summary struct{ of any }
)

// MarshalJSON writes the answer of the profile.
func (a details) MarshalJSON() ([]byte, error) { return json.Marshal(a.of) }

// MarshalJSON writes the answer of the profile.
func (a summary) MarshalJSON() ([]byte, error) { return json.Marshal(a.of) }

// Schema says that the answer has one of the shapes.
func (details) Schema(r rest.Registry) *rest.Schema {
	return oneOf(r, func(p profile) reflect.Type { shape, _ := p.shapes(); return shape })
}

// Schema says that the answer has one of the shapes.
func (summary) Schema(r rest.Registry) *rest.Schema {
	return oneOf(r, func(p profile) reflect.Type { _, shape := p.shapes(); return shape })
}

// oneOf is the schema of an answer that has the shape of a profile, of those that
// have one.
func oneOf(r rest.Registry, shape func(profile) reflect.Type) *rest.Schema {
	all := eachProfile(func(p profile) []*rest.Schema {
		if of := shape(p); of != nil {
			return []*rest.Schema{r.Schema(of, true, "")}
		}
		return nil
	})
	if len(all) == 1 {
		return all[0]
	}
	return &rest.Schema{OneOf: all}
}

// Module is what the family lists farms by.
type Module int

// The modules, in the order in which answers have them.
const (
	LSLB Module = iota
	GSLB
	DSLB
)

// paramsOf are the fields of all variants of a body.
func paramsOf(variants []rest.Variant) (out []validate.Param) {
	for _, s := range variants {
		out = append(out, s.Of.Params()...)
	}
	return out
}
