package document

import (
	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/mgmt/validate"
)

// profile is how documents have the farms of one profile: what follows their
// fields, which are those of the table of the profile. A new one is a line in
// profiles.
type profile struct {
	// lists names what follows the fields of a farm; write writes it, and read
	// takes it from a document.
	lists []string
	write func(w writer, f *farm.Farm, of given)
	read  func(d *decoder, lists map[string]*node, path string, f *farm.Farm)
}

var profiles = map[farm.Profile]profile{
	farm.ProfileHTTP: {[]string{validate.ReplaceRequest.Farm, validate.ReplaceResponse.Farm, "services"}, writeServices, readServices},
	farm.ProfileL4:   {[]string{"backends"}, writeOwnBackends, readOwnBackends},
	farm.ProfileGSLB: {[]string{"services", "zones"}, writeNames, readNames},
}

func writeServices(w writer, f *farm.Farm, of given) {
	if f.HTTP == nil {
		return
	}
	walkRules(w, validate.ReplaceRequest.Farm, &validate.ReplaceRequest.Rule, f.HTTP.ReplaceRequest)
	walkRules(w, validate.ReplaceResponse.Farm, &validate.ReplaceResponse.Rule, f.HTTP.ReplaceResponse)
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
	if f.HTTP == nil { // its profile is wrong, but what it holds is looked at
		f.HTTP = &farm.HTTP{}
	}
	rules(d, lists, path, &validate.ReplaceRequest, &f.HTTP.ReplaceRequest)
	rules(d, lists, path, &validate.ReplaceResponse, &f.HTTP.ReplaceResponse)
	for i, item := range d.items(lists["services"], path, "services") {
		d.service(item, f, i)
	}
}

// writeOwnBackends and readOwnBackends are for farms whose backends are theirs.
func writeOwnBackends(w writer, f *farm.Farm, _ given) {
	walkBackends(f.Own().Backends(), w, validate.ProfileOf(f).Backend().Document)
}

func readOwnBackends(d *decoder, lists map[string]*node, path string, f *farm.Farm) {
	list := backends(d, lists, path, f.Own(), validate.ProfileOf(f).Backend().Document)
	if f.SettingsProfile() != "" {
		f.Own().SetBackends(list)
	}
}
