package validate

import (
	"slices"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/mgmt/validate/field"
)

// Tables of the configurable fields in responses. Names, states, and lists with operations
// of their own are separate.
var (
	FarmAnswer      = field.Table[farm.Farm]{Fields: slices.Concat(noteFields, httpFields)}
	L4FarmAnswer    = field.Table[farm.Farm]{Fields: slices.Concat(noteFields, l4Fields, l4LogFields), Facts: l4Facts}
	ServiceAnswer   = ServiceUpdate
	BackendAnswer   = field.Table[farm.Backend]{Fields: field.Without(backendFields, backendResolve.Name)}
	L4BackendAnswer = field.Table[farm.Backend]{Fields: field.Without(l4BackendFields, backendResolve.Name)}
)
