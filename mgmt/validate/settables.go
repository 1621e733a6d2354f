package validate

func init() { objects = settables }

// settables lists the objects of a configuration, the most common first.
func settables() []settable {
	out := []settable{
		{"services of http farms", "service", ServiceDocument.Names(), ServiceUpdate.Names()},
		{"backends", "backend", BackendDocument.Names(), BackendUpdate.Names()},
	}
	for _, p := range Profiles() {
		name := string(p.Name())
		out = append(out, settable{name + " farms", "farm", p.Farm().Document.Names(), p.Farm().Update.Names()})
	}
	for _, p := range Profiles() {
		name := string(p.Name())
		out = append(out, settable{"backends of " + name + " farms", "backend", p.Backend().Document.Names(), p.Backend().Update.Names()})
	}
	return append(out,
		settable{"services of gslb farms", "service", DNSServiceDocument.Names(), DNSServiceUpdate.Names()},
		settable{"health checks", "check", CheckDocument.Names(), CheckUpdate.Names()})
}
