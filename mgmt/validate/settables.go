package validate

import (
	"github.com/sluicelb/sluice/mgmt/validate/check"
	"github.com/sluicelb/sluice/mgmt/validate/gslbfarm"
	"github.com/sluicelb/sluice/mgmt/validate/httpfarm"
	"github.com/sluicelb/sluice/mgmt/validate/profile"
	"github.com/sluicelb/sluice/mgmt/validate/suggest"
)

func init() { suggest.Objects = settables }

// settables lists the objects of a configuration, the most common first.
func settables() []suggest.Object {
	out := []suggest.Object{
		{Plural: "services of http farms", Command: "service", Fields: httpfarm.ServiceDocument.Names(), Settings: httpfarm.ServiceUpdate.Names()},
		{Plural: "backends", Command: "backend", Fields: httpfarm.BackendDocument.Names(), Settings: httpfarm.BackendUpdate.Names()},
	}
	for _, p := range profile.All() {
		name := string(p.Name())
		out = append(out, suggest.Object{Plural: name + " farms", Command: "farm", Fields: p.Farm().Document.Names(), Settings: p.Farm().Update.Names()})
	}
	for _, p := range profile.All() {
		name := string(p.Name())
		out = append(out, suggest.Object{Plural: "backends of " + name + " farms", Command: "backend", Fields: p.Backend().Document.Names(), Settings: p.Backend().Update.Names()})
	}
	return append(out,
		suggest.Object{Plural: "services of gslb farms", Command: "service", Fields: gslbfarm.ServiceDocument.Names(), Settings: gslbfarm.ServiceUpdate.Names()},
		suggest.Object{Plural: "health checks", Command: "check", Fields: check.Document.Names(), Settings: check.Update.Names()})
}
