package profile

import (
	"cmp"
	"net/netip"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/mgmt/validate/field"
)

// Profile holds the rules for farms of one profile. A new profile is a type in a file of
// its own and an entry in profiles.
type Profile interface {
	Name() farm.Profile
	// Farm and Backend return the bodies about a farm and about one of its backends.
	Farm() Bodies[farm.Farm]
	Backend() Bodies[farm.Backend]
	// TakesBackend explains why no backend can be added to the group, nil if it can.
	TakesBackend(farm.Group) error
	// Session converts a client identification into the group's stored form.
	Session(g farm.Group, session any) (string, error)
	// ListensOn describes the farm's endpoints for messages.
	ListensOn(*farm.Farm) string

	// Begin sets the initial settings of a new farm of the named profile, which may be https.
	// l4farm.setPorts sets its virtual ports, and portsProblem explains why these are invalid.
	Begin(f *farm.Farm, named farm.Profile)
	SetPorts(*farm.Farm, field.Value)
	PortsProblem(sent field.Values[farm.Farm]) string
	// OneVersion explains why backends must have the VIP's IP version, and how to lift that
	// restriction. It applies if farm.MixesVersions does not hold.
	OneVersion(*farm.Farm) string
	// Check checks a farm with all its parts.
	Check(f *farm.Farm, local []netip.Prefix, yield func(field.Error) bool) bool
	// Warnings: about the farm itself, its group at a position, and a backend of a group.
	FarmWarnings(f *farm.Farm, add Warn)
	GroupWarnings(f *farm.Farm, position int, add Warn)
	BackendWarnings(g farm.Group, position int, local []netip.Prefix, add Warn)
	PriorityWarning(g farm.Group, position int) string
}

// Bodies holds the fields of an object for creation, change and documents.
type Bodies[T any] struct{ Create, Update, Document *field.Table[T] }

// Warn adds a warning about a field; an empty text is ignored.
type Warn func(field, text string)

// profiles lists all profiles. Farms with an invalid or missing profile are treated like
// farms of the first one.
var profiles []Profile

// Register sets the list of profiles, in the order of farm.Profiles. It is called once, when the
// program starts.
func Register(list ...Profile) { profiles = list }

// All lists every profile, in the order of farm.Profiles.
func All() []Profile { return profiles }

// Of returns the profile of a farm's settings, or the named one if there are none.
func Of(f *farm.Farm) Profile { return Named(cmp.Or(f.SettingsProfile(), f.Profile)) }

// Named returns the profile with that name in bodies; https is http.
func Named(name farm.Profile) Profile {
	for _, p := range profiles {
		if p.Name() == name {
			return p
		}
	}
	return profiles[0]
}
