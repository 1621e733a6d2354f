package validate

import (
	"regexp"
	"slices"

	"github.com/sluicelb/sluice/core/farm"
)

var tagPattern = regexp.MustCompile(`^[\p{L}\p{N}][\p{L}\p{N}_.:/-]*$`)

// noteFields are notes about a farm. They are used for searching and sorting lists, and do
// not affect traffic.
var noteFields = []field[farm.Farm]{
	{rule: rule{name: "comment", hints: basic(atNotes, "Comment"), kind: kindText, blank: true, null: true, maxLen: 1024,
		about: "Description of the farm (free text)."},
		get: func(f *farm.Farm) Value { return textValue(f.Said().Comment) },
		set: func(f *farm.Farm, v Value) { f.Say(farm.Notes{Comment: v.text, Tags: f.Said().Tags}) }},
	{rule: rule{name: "tags", hints: basic(atNotes, "Tags"), kind: kindList, words: true, null: true, max: farm.MaxTags, maxLen: 32, pattern: tagPattern, format: "tag",
		must: "a word of letters, digits and _ . : / -, which begins with a letter or digit", musts: "a list of at most 16 words",
		about: "Tags for filtering lists of farms, e.g. production or shop."},
		get: func(f *farm.Farm) Value { return listValue(f.Said().Tags) },
		set: func(f *farm.Farm, v Value) {
			f.Say(farm.Notes{Comment: f.Said().Comment, Tags: slices.Clone(v.list)})
		}},
}
