package document

import (
	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/mgmt/validate/httpfarm"
	"github.com/sluicelb/sluice/mgmt/validate/profile"
)

// nested describes the documents of farms of one profile: the lists after the fields of its
// table. A new profile is a line in profiles.
type nested struct {
	// lists names the lists after the fields of a farm; write writes and read decodes them.
	lists []string
	write func(w writer, f *farm.Farm, of given)
	read  func(d *decoder, lists map[string]*node, path string, f *farm.Farm)
}

var profiles = map[farm.Profile]nested{
	farm.ProfileHTTP: {[]string{httpfarm.ReplaceRequest.Farm, httpfarm.ReplaceResponse.Farm, "services"}, writeServices, readServices},
	farm.ProfileL4:   {[]string{"backends"}, writeOwnBackends, readOwnBackends},
	farm.ProfileGSLB: {[]string{"services", "zones"}, writeNames, readNames},
}

func writeServices(w writer, f *farm.Farm, of given) {
	if f.HTTP == nil {
		return
	}
	walkRules(w, httpfarm.ReplaceRequest.Farm, &httpfarm.ReplaceRequest.Rule, f.HTTP.ReplaceRequest)
	walkRules(w, httpfarm.ReplaceResponse.Farm, &httpfarm.ReplaceResponse.Rule, f.HTTP.ReplaceResponse)
	if len(f.HTTP.Services) == 0 {
		return
	}
	w.open("services", false)
	for j := range f.HTTP.Services {
		walkService(&f.HTTP.Services[j], w, of)
	}
	w.close()
}

func readServices(d *decoder, lists map[string]*node, path string, f *farm.Farm) {
	if f.HTTP == nil { // decode the rest despite the wrong profile
		f.HTTP = &farm.HTTP{}
	}
	rules(d, lists, path, &httpfarm.ReplaceRequest, &f.HTTP.ReplaceRequest)
	rules(d, lists, path, &httpfarm.ReplaceResponse, &f.HTTP.ReplaceResponse)
	for i, item := range d.items(lists["services"], path, "services") {
		d.service(item, f, i)
	}
}

// writeOwnBackends and readOwnBackends handle farms that have backends without services.
func writeOwnBackends(w writer, f *farm.Farm, _ given) {
	walkBackends(f.Own().Backends(), w, profile.Of(f).Backend().Document)
}

func readOwnBackends(d *decoder, lists map[string]*node, path string, f *farm.Farm) {
	list := backends(d, lists, path, f.Own(), profile.Of(f).Backend().Document)
	if f.SettingsProfile() != "" {
		f.Own().SetBackends(list)
	}
}
