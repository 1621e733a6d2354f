package validate

import (
	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/mgmt/validate/field"
)

// systemWarnings adds warnings about the settings of the machine.
func systemWarnings(cfg *farm.Config, yield func(field.Error)) {
	for i := range Sections {
		s := &Sections[i]
		s.Table.UnreachableWarnings(&cfg.System, func(fieldName, text string) {
			yield(field.Error{Path: SectionPath(s.Name), Field: fieldName, Message: text})
		})
	}
}
