package farms

import (
	"encoding/json"
	"net/netip"
	"reflect"
	"slices"

	"github.com/sluicelb/sluice/core/explain"
	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/mgmt/api/rest"
	"github.com/sluicelb/sluice/mgmt/validate/field"
	"github.com/sluicelb/sluice/mgmt/validate/profile"
)

// descriptor holds the API's knowledge of one profile, in addition to validation. A new
// profile is a type in a file of its own and an entry in profiles.
type descriptor interface {
	profile.Profile

	// words returns the names of the profile in responses and filters; module returns the
	// module that lists its farms.
	words() []farm.Profile
	module() Module
	// details and summary return the responses for a farm, shapes their types.
	details(s *Resource, c *rest.Call, description string, f *farm.Farm, of detail) any
	summary(s *Resource, c *rest.Call, description string, f *farm.Farm) any
	shapes() (details, summary reflect.Type)
	// services returns the services of the profile, or nil if backends belong to the farm.
	// backend returns the response for the backend at a position of a group, backendShape
	// its type.
	services() services
	backend(s *Resource, c *rest.Call, g farm.Group, position int) any
	backendShape() reflect.Type
	// created adds the fields of a new farm that appear whether or not they were sent.
	created(f *farm.Farm, params rest.Sent)
	// source returns the local source address towards backends, if the farm has one.
	source(f *farm.Farm) netip.Addr
	// rules returns the length of each list that is changed item by item.
	rules(f *farm.Farm) map[string]int
	// mayHaveCertificates returns the reason why the farm cannot have certificates.
	mayHaveCertificates(f *farm.Farm) error
	// carrying explains the farm's data path; question reads a request or connection to
	// explain.
	carrying(f *farm.Farm) FarmExplanation
	question(body map[string]any) (explain.Question, error)
}

var profiles = []descriptor{
	httpFarms{profile.Named(farm.ProfileHTTP)},
	l4Farms{profile.Named(farm.ProfileL4)},
	dnsFarms{profile.Named(farm.ProfileGSLB)},
}

// ProfileOf returns the profile of a farm.
func ProfileOf(f *farm.Farm) descriptor { return profileNamed(profile.Of(f).Name()) }

func profileNamed(name farm.Profile) descriptor {
	return profiles[max(0, slices.IndexFunc(profiles, func(p descriptor) bool { return p.Name() == name }))]
}

// ModuleOf returns the module that lists a farm.
func ModuleOf(f *farm.Farm) Module { return ProfileOf(f).module() }

// ProfileWords returns the names of all profiles in responses and filters.
func ProfileWords() []farm.Profile { return eachProfile(descriptor.words) }

// eachProfile concatenates the results of say for all profiles, in order.
func eachProfile[T any](say func(descriptor) []T) (all []T) {
	for _, p := range profiles {
		all = append(all, say(p)...)
	}
	return all
}

// details and summary are responses for one farm, as the variant of its profile.
type (
	details struct{ of any }
	summary struct{ of any }
)

// MarshalJSON encodes the variant of the profile.
func (a details) MarshalJSON() ([]byte, error) { return json.Marshal(a.of) }

// MarshalJSON encodes the variant of the profile.
func (a summary) MarshalJSON() ([]byte, error) { return json.Marshal(a.of) }

// Schema describes the response as one of its variants.
func (details) Schema(r rest.Registry) *rest.Schema {
	return oneOf(r, func(p descriptor) reflect.Type { shape, _ := p.shapes(); return shape })
}

// Schema describes the response as one of its variants.
func (summary) Schema(r rest.Registry) *rest.Schema {
	return oneOf(r, func(p descriptor) reflect.Type { _, shape := p.shapes(); return shape })
}

// oneOf returns the schema of a response that has one variant per profile.
func oneOf(r rest.Registry, shape func(descriptor) reflect.Type) *rest.Schema {
	all := eachProfile(func(p descriptor) []*rest.Schema {
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

// Module is the group in which Zevenet lists a farm.
type Module int

// Modules, in the order of responses.
const (
	LSLB Module = iota
	GSLB
	DSLB
)

// paramsOf returns the fields of all variants of a body.
func paramsOf(variants []rest.Variant) (out []field.Param) {
	for _, s := range variants {
		out = append(out, s.Of.Params()...)
	}
	return out
}
