package document

import (
	"fmt"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/mgmt/validate/gslbfarm"
	"github.com/sluicelb/sluice/mgmt/validate/profile"
)

// writeNames writes the services and zones of a gslb farm.
func writeNames(w writer, f *farm.Farm, _ given) {
	if f.Global == nil {
		return
	}
	objects(w, "services", f.Global.Services, func(s *farm.DNSService) {
		fields(w, gslbfarm.ServiceDocument.Given(s))
		walkBackends(s.Backends, w, &gslbfarm.BackendDocument)
	})
	objects(w, "zones", f.Global.Zones, func(z *farm.Zone) {
		fields(w, gslbfarm.ZoneDocument.Given(z))
		objects(w, "keys", z.Keys, func(k *farm.ZoneKey) { fields(w, gslbfarm.KeyDocument.Given(k)) })
		objects(w, "resources", z.Unpacked(), func(r *farm.Record) { fields(w, gslbfarm.RecordDocument.Given(r)) })
	})
}

// objects writes a list of objects if there are any.
func objects[T any](w writer, name string, list []T, each func(*T)) {
	if len(list) == 0 {
		return
	}
	w.open(name, false)
	for i := range list {
		w.item()
		each(&list[i])
		w.end()
	}
	w.close()
}

// readNames reads the services and zones of a gslb farm.
func readNames(d *decoder, lists map[string]*node, path string, f *farm.Farm) {
	if f.Global == nil { // decode the rest despite the wrong profile
		f.Global = &farm.GSLB{}
	}
	for i, item := range d.items(lists["services"], path, "services") {
		d.dnsService(item, f, i)
	}
	for i, item := range d.items(lists["zones"], path, "zones") {
		d.zone(item, f, i)
	}
}

func (d *decoder) dnsService(n *node, f *farm.Farm, position int) {
	path := profile.ServicePath(f.Name, textOf(n, "name", fmt.Sprintf("number %d", position+1)))
	s := farm.DNSService{}
	inner := fill(d, n, path, &gslbfarm.ServiceDocument, &s, "backends")
	for i, item := range d.items(inner["backends"], path, "backends") {
		b := farm.Backend{}
		fill(d, item, profile.BackendPath(f.Name, s.Name, i+farm.FirstDNSBackend), &gslbfarm.BackendDocument, &b)
		s.Backends = append(s.Backends, b)
	}
	if s.Name != "" {
		f.Global.Services = append(f.Global.Services, s)
	}
}

func (d *decoder) zone(n *node, f *farm.Farm, position int) {
	z := farm.Zone{}
	name := textOf(n, "name", fmt.Sprintf("number %d", position+1))
	inner := fill(d, n, gslbfarm.ZonePath(f.Name, name), &gslbfarm.ZoneDocument, &z, "keys", "resources")
	for i, item := range d.items(inner["keys"], gslbfarm.ZonePath(f.Name, name), "keys") {
		k := farm.ZoneKey{}
		fill(d, item, gslbfarm.KeyPath(f.Name, z.Name, i), &gslbfarm.KeyDocument, &k)
		z.Keys = append(z.Keys, k)
	}
	for i, item := range d.items(inner["resources"], gslbfarm.ZonePath(f.Name, name), "resources") {
		r := farm.Record{}
		fill(d, item, gslbfarm.RecordPath(f.Name, z.Name, i), &gslbfarm.RecordDocument, &r)
		gslbfarm.ShortenOwner(&z, &r)
		z.Records = append(z.Records, r)
	}
	if z.Name != "" {
		f.Global.Zones = append(f.Global.Zones, z)
	}
}
