package httpfarm

import (
	"slices"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/mgmt/validate/field"
	"github.com/sluicelb/sluice/mgmt/validate/profile"
)

var Answer = field.Table[farm.Farm]{Fields: slices.Concat(profile.Notes, fields)}

// Create is the body of POST /farms for an http farm: Zevenet's fields and all
// changeable ones, so that a farm is never incomplete.
var Create = field.Table[farm.Farm]{Fields: slices.Concat(profile.NewFarm, profile.Notes, fields, directives)}

// Update is the body of PUT /farms/F of an http farm; setting newfarmname renames.
var Update = field.Table[farm.Farm]{Fields: slices.Concat([]field.Field[farm.Farm]{field.Named(profile.FarmName, "newfarmname"), profile.FarmVIP, profile.FarmVPort}, profile.Notes, fields, directives)}

// Document is an http farm in a document, without its services.
var Document = field.Table[farm.Farm]{Fields: slices.Concat([]field.Field[farm.Farm]{
	field.Require(profile.FarmName), field.Require(profile.FarmProfile),
	field.Require(profile.FarmVIP), field.Require(profile.FarmVPort), profile.FarmStopped,
}, profile.Notes, tlsFields, settings, logFields, farmHeaders)}

// fields are the fields of an http farm except its address.
var fields = slices.Concat(tlsFields, tlsLegacy, settings, logFields)
