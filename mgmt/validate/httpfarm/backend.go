package httpfarm

import (
	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/mgmt/validate/field"
	"github.com/sluicelb/sluice/mgmt/validate/profile"
)

var BackendAnswer = field.Table[farm.Backend]{Fields: field.Without(backendFields, profile.BackendResolve.Name)}

// BackendCreate is the body of POST …/backends.
var BackendCreate = field.Table[farm.Backend]{Fields: append([]field.Field[farm.Backend]{field.Require(profile.BackendHost),
	unlessService(field.Require(profile.BackendPort))}, backendFields...)}

// BackendUpdate is the body of PUT …/backends/ID; null resets a number.
var BackendUpdate = field.Table[farm.Backend]{Fields: append([]field.Field[farm.Backend]{profile.BackendHost,
	profile.BackendPort}, backendFields...)}

// BackendDocument is a backend in a document.
var BackendDocument = field.Table[farm.Backend]{Fields: append(append([]field.Field[farm.Backend]{field.Require(profile.BackendHost),
	unlessService(field.Require(profile.BackendPort))}, backendFields...),
	profile.BackendMaintenance, profile.BackendSessions)}

// unlessService waives a field whose value comes from an SRV record.
func unlessService(f field.Field[farm.Backend]) field.Field[farm.Backend] {
	f.Waived = func(sent map[string]any) bool {
		return sent[profile.BackendResolve.Name] == string(farm.ResolveService)
	}
	return f
}

// backendFields are the fields of a backend except its address.
var backendFields = append(field.UnsetAsNull(profile.BackendWeight, profile.BackendPriority,
	profile.BackendTimeout, profile.BackendConnect,
	profile.BackendLimit, profile.BackendSource, profile.BackendMark, profile.BackendAlias), profile.BackendResolve)
