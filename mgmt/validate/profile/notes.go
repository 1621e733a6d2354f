package profile

import (
	"regexp"
	"slices"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/mgmt/validate/field"
)

var tagPattern = regexp.MustCompile(`^[\p{L}\p{N}][\p{L}\p{N}_.:/-]*$`)

// Notes are notes about a farm. They are used for searching and sorting lists, and do
// not affect traffic.
var Notes = []field.Field[farm.Farm]{
	{Rule: field.Rule{Name: "comment", Hints: field.Basic(field.AtNotes, "Comment"), Kind: field.Text, Blank: true, Null: true, MaxLen: 1024,
		About: "Description of the farm (free text)."},
		Get: func(f *farm.Farm) field.Value { return field.TextValue(f.Said().Comment) },
		Set: func(f *farm.Farm, v field.Value) { f.Say(farm.Notes{Comment: v.Text(), Tags: f.Said().Tags}) }},
	{Rule: field.Rule{Name: "tags", Hints: field.Basic(field.AtNotes, "Tags"), Kind: field.List, Words: true, Null: true, Max: farm.MaxTags, MaxLen: 32, Pattern: tagPattern, Format: "tag",
		Must: "a word of letters, digits and _ . : / -, which begins with a letter or digit", MustList: "a list of at most 16 words",
		About: "Tags for filtering lists of farms, e.g. production or shop."},
		Get: func(f *farm.Farm) field.Value { return field.ListValue(f.Said().Tags) },
		Set: func(f *farm.Farm, v field.Value) {
			f.Say(farm.Notes{Comment: f.Said().Comment, Tags: slices.Clone(v.List())})
		}},
}
