package validate

import (
	"github.com/sluicelb/sluice/mgmt/validate/check"
	"github.com/sluicelb/sluice/mgmt/validate/field"
	"github.com/sluicelb/sluice/mgmt/validate/gslbfarm"
	"github.com/sluicelb/sluice/mgmt/validate/httpfarm"
	"github.com/sluicelb/sluice/mgmt/validate/profile"
	"github.com/sluicelb/sluice/mgmt/validate/system"
)

// Schema returns a JSON Schema (2020-12) of every body about a configuration object, by
// name in $defs. It also contains data for forms: x-group, x-unit, x-advanced, x-cost,
// x-only, x-values (enum without alternative spellings), x-when (create or update, if only
// one accepts the field) and x-order (JSON objects are unordered).
func Schema() map[string]any {
	objects := map[string]any{
		"service":     field.Schema("A service of an http farm", httpfarm.ServiceCreate, httpfarm.ServiceUpdate),
		"maintenance": field.Schema("Maintenance of a backend", profile.Maintenance),
		"header_add":  field.Schema("A header that is added", httpfarm.AddRequest.Rule), "header_remove": field.Schema("Headers that are removed", httpfarm.RemoveRequest.Rule),
		"header_replace": field.Schema("Headers that are changed", httpfarm.ReplaceRequest.Rule), "url_rewrite": field.Schema("A rewritten URL", httpfarm.Rewrites.Rule),
		"settings":     field.Schema("Settings of the appliance", system.Settings),
		"check":        field.Schema("Health check", check.Create, check.Update),
		"gslb_service": field.Schema("A service of a gslb farm", gslbfarm.ServiceCreate, gslbfarm.ServiceUpdate),
		"gslb_zone":    field.Schema("A zone of a gslb farm", gslbfarm.ZoneCreate, gslbfarm.ZoneUpdate),
		"gslb_record":  field.Schema("A record of a zone", gslbfarm.RecordCreate, gslbfarm.RecordUpdate),
	}
	for _, p := range profile.All() {
		name, farms, backends := string(p.Name()), p.Farm(), p.Backend()
		objects[name+"_farm"] = field.Schema("Farm of profile "+name, *farms.Create, *farms.Update)
		objects[name+"_backend"] = field.Schema("Backend in a farm of profile "+name, *backends.Create, *backends.Update)
	}
	for _, kind := range system.AliasKinds() {
		objects[kind.Name+"_alias"] = field.Schema(kind.Title, kind.Create)
	}
	for i := range system.Sections {
		objects["system_"+system.Sections[i].Name] = field.Schema(system.Sections[i].Title, system.Sections[i].Table)
	}
	return map[string]any{"$schema": "https://json-schema.org/draft/2020-12/schema", "title": "Objects of Sluice", "$defs": objects}
}
