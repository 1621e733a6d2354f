package validate

import (
	"cmp"
	"net/netip"

	"github.com/sluicelb/sluice/core/farm"
)

// Profile is what the rules say of the farms of one profile. A new one is a
// type, in a file of its own, and a line in profiles.
type Profile interface {
	Name() farm.Profile
	// Farm and Backend are the bodies about a farm and about one of its backends.
	Farm() Bodies[farm.Farm]
	Backend() Bodies[farm.Backend]
	// TakesBackend says why the group can be given no backend, nil when it can.
	TakesBackend(farm.Group) error
	// Session brings what a client is to be recognised by into the form in which
	// the group keeps it.
	Session(g farm.Group, session any) (string, error)
	// ListensOn is what a farm takes, for messages.
	ListensOn(*farm.Farm) string

	// begin gives a new farm the settings it starts with, setPorts the virtual
	// ports it was asked for; portsProblem is why it cannot have those.
	begin(*farm.Farm)
	setPorts(*farm.Farm, Value)
	portsProblem(sent Values[farm.Farm]) string
	// oneVersion is why backends must be of the IP version of the VIP, and what would
	// let them be of the other, where farm.MixesVersions does not hold.
	oneVersion(*farm.Farm) string
	// check holds the rules of a farm and of all that belongs to it.
	check(f *farm.Farm, local []netip.Prefix, yield func(Error) bool) bool
	// What has no effect, or cannot work: of the farm itself, of its group at a
	// position, of a backend of a group.
	farmWarnings(f *farm.Farm, add warn)
	groupWarnings(f *farm.Farm, position int, add warn)
	backendWarnings(g farm.Group, position int, local []netip.Prefix, add warn)
	priorityWarning(g farm.Group, position int) string
}

// Bodies are the fields of an object: when it is made, when it is changed, and
// in a document.
type Bodies[T any] struct{ Create, Update, Document *Table[T] }

// warn adds a warning about a field; an empty text is none.
type warn func(field, text string)

// profiles lists every profile. Farms whose profile is wrong or missing are
// looked at as those of the first.
var profiles = []Profile{httpProfile{}, l4Profile{}, dnsProfile{}}

// Profiles lists every profile, in the order of farm.Profiles.
func Profiles() []Profile { return profiles }

// ProfileOf is the profile whose settings a farm has; without any, the one it
// says.
func ProfileOf(f *farm.Farm) Profile { return ProfileNamed(cmp.Or(f.SettingsProfile(), f.Profile)) }

// ProfileNamed is the profile that bodies call so; https is http.
func ProfileNamed(name farm.Profile) Profile {
	for _, p := range profiles {
		if p.Name() == name {
			return p
		}
	}
	return profiles[0]
}
