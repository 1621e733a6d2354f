package farms

import (
	"bytes"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/core/rdata"
	"github.com/sluicelb/sluice/mgmt/api/rest"
	"github.com/sluicelb/sluice/mgmt/rbac"
	"github.com/sluicelb/sluice/mgmt/validate/field"
	"github.com/sluicelb/sluice/mgmt/validate/gslbfarm"
)

func (s *Resource) zoneOperations() []*rest.Operation {
	const (
		all       = "/farms/{farm}/zones"
		one       = all + "/{zone}"
		resources = one + "/resources"
	)
	return []*rest.Operation{
		rest.Op(rest.Get, all, rbac.Open, "List the zones of a farm", s.listZones).With(recordsQuery, aboutRecords),
		rest.Op(rest.Post, all, rbac.FarmModify, "Create a zone", s.createZone).Body(&gslbfarm.ZoneCreate).Created().Edits(),
		rest.Op(rest.Get, one, rbac.Open, "Get a zone", s.getZone).With(recordsQuery, aboutRecords),
		rest.Op(rest.Put, one, rbac.FarmModify, "Modify a zone", s.updateZone).Body(&gslbfarm.ZoneUpdate).Edits().Forces(),
		rest.Op(rest.Delete, one, rbac.FarmModify, "Delete a zone", s.deleteZone).Edits().Forces(),
		rest.Op(rest.Get, resources, rbac.Open, "List the resources of a zone", s.listRecords).With(searchQuery, aboutSearch),
		rest.Op(rest.Post, resources, rbac.FarmModify, "Create a resource of a zone", s.createRecord).Body(&gslbfarm.RecordCreate).Created().Edits(),
		rest.Op(rest.Put, resources+"/{resource}", rbac.FarmModify, "Modify a resource of a zone", s.updateRecord).Body(&gslbfarm.RecordUpdate).Edits(),
		rest.Op(rest.Delete, resources+"/{resource}", rbac.FarmModify, "Delete a resource of a zone", s.deleteRecord).Edits(),
	}
}

// zonePath matches the path of a zone or of an object below it.
var zonePath = regexp.MustCompile(`^([^%]*/farms/[^/%]+/zones/)([^/]+)(/.*)?$`)

// InZones normalises zone names in a path to one segment. A slash in a name, as in
// classless reverse zones (RFC 2317), arrives as %2F and becomes a tilde. The root zone
// becomes @, because clients remove a dot segment before sending (RFC 3986 §5.2.4).
func InZones(r *http.Request) *http.Request {
	parts := zonePath.FindStringSubmatch(r.URL.EscapedPath())
	if parts == nil {
		return r
	}
	name := strings.NewReplacer("%2F", "~", "%2f", "~").Replace(parts[2])
	if name == farm.RootZone || strings.EqualFold(name, "%2E") || name == "%40" {
		name = "@"
	}
	if name == parts[2] {
		return r
	}
	return rest.Moved(r, r.Method, parts[1]+name+parts[3])
}

// zonesOf returns the zones of a farm, or an error if its profile has none.
func zonesOf(f *farm.Farm) (*farm.GSLB, error) {
	if g := f.Zones(); g != nil {
		return g, nil
	}
	return nil, rest.BadRequest("the farm %s is of profile %s and has no zones: farms of profile gslb have", f.Name, f.Profile)
}

// findZone finds a zone of a farm in a configuration.
func findZone(cfg *farm.Config, name, zone string) (*farm.Farm, *farm.Zone, error) {
	f, err := rest.FindFarm(cfg, name)
	if err != nil {
		return nil, nil, err
	}
	g, err := zonesOf(f)
	if err != nil {
		return nil, nil, err
	}
	if z := g.Zone(zone); z != nil {
		return f, z, nil
	}
	return nil, nil, rest.NotFound("the zone %s does not exist in the farm %s", rest.Quote(zone), name)
}

// zone returns the zone in the path and its farm, which the caller must be allowed to see.
func zone(c *rest.Call) (*farm.Farm, *farm.Zone, error) {
	if _, err := c.Farm(); err != nil {
		return nil, nil, err
	}
	return findZone(c.Config, c.Param("farm"), c.Param("zone"))
}

// record returns the position of the record in the path.
func record(c *rest.Call, z *farm.Zone) (int, error) {
	id := c.Param("resource")
	n, err := strconv.Atoi(id)
	at := -1
	if err == nil && n >= 0 {
		at, _ = z.Find(n)
	}
	if at < 0 {
		return 0, rest.NotFound("the resource %s does not exist in the zone %s", rest.Quote(id), z.Name)
	}
	return at, nil
}

func (s *Resource) listZones(c *rest.Call) (rest.List[ZoneView], error) {
	f, err := c.Farm()
	if err != nil {
		return rest.List[ZoneView]{}, err
	}
	g, err := zonesOf(f)
	if err != nil {
		return rest.List[ZoneView]{}, err
	}
	of, err := detailOf(c)
	if err != nil {
		return rest.List[ZoneView]{}, err
	}
	return rest.ListOf("List the zones of farm "+f.Name, len(g.Zones), func(i int) ZoneView { return zoneView(&g.Zones[i], of) }), nil
}

func (s *Resource) getZone(c *rest.Call) (rest.Object[ZoneView], error) {
	f, z, err := zone(c)
	if err != nil {
		return rest.Object[ZoneView]{}, err
	}
	of, err := detailOf(c)
	if err != nil {
		return rest.Object[ZoneView]{}, err
	}
	return rest.Object[ZoneView]{Description: fmt.Sprintf("Get zone %s of farm %s", z.Name, f.Name), Params: zoneView(z, of)}, nil
}

func (s *Resource) createZone(c *rest.Call) (rest.Changed, error) {
	f, err := c.Farm()
	if err == nil {
		_, err = zonesOf(f)
	}
	if err != nil {
		return rest.Changed{}, err
	}
	values, err := rest.Decode(c, &gslbfarm.ZoneCreate)
	if err != nil {
		return rest.Changed{}, err
	}
	farmName, name := f.Name, values.Get("id").Text()
	_, err = c.Change(fmt.Sprintf("create zone %s of farm %s", name, farmName), func(cfg *farm.Config) error {
		f, err := rest.FindFarm(cfg, farmName)
		if err != nil {
			return err
		}
		g, err := zonesOf(f)
		if err != nil {
			return err
		}
		if g.Zone(name) != nil {
			return rest.BadRequest("id: a zone named %s exists already in the farm %s", name, farmName)
		}
		created := farm.NewZone(name)
		if err := values.Apply(&created); err != nil {
			return err
		}
		g.Zones = append(g.Zones, created)
		return nil
	})
	if err != nil {
		return rest.Changed{}, err
	}
	out := s.changedZone(c, farmName, name, rest.Changed{
		Description: "New zone of farm " + farmName, Params: values.Sent(), Message: fmt.Sprintf("The zone %s has been created in farm %s.", name, farmName)})
	if _, z, err := findZone(c.Config, farmName, name); err == nil {
		tellSerial(&out, z, values.Get("serial"))
	}
	return out, nil
}

// tellSerial warns if a zone starts with a newer serial than the one sent, and shows it.
// Secondaries may hold an earlier zone of the same name, so its serial must not decrease.
func tellSerial(out *rest.Changed, z *farm.Zone, v field.Value) {
	sent := uint32(v.Number())
	if sent == 0 || sent == z.Serial {
		return
	}
	out.Params["serial"] = z.Serial
	text := fmt.Sprintf("serial: %d is older than %d, with which the zone begins, so that it never decreases (RFC 1982)", sent, z.Serial)
	out.Warning = strings.Join(slices.DeleteFunc([]string{text, out.Warning}, func(text string) bool { return text == "" }), "; ")
}

// changedZone adds the farm's status and the zone's warning to a response.
func (s *Resource) changedZone(c *rest.Call, farmName, name string, out rest.Changed) rest.Changed {
	out.Status = s.deps.State.StatusOf(c, farmName)
	if f, z, err := findZone(c.Config, farmName, name); err == nil {
		out.Warning = c.Warning(gslbfarm.ZonePath(farmName, name), gslbfarm.ZoneWarning(f.Zones(), z))
	}
	return out
}

// trustWarnings returns the warnings of a change about zones of a farm that it deleted:
// resolvers may reject signed ones from now on.
func trustWarnings(c *rest.Call, farmName string, zones ...farm.Zone) string {
	var texts []string
	for i := range zones {
		if text := c.Warning(gslbfarm.ZonePath(farmName, zones[i].Name)); text != "" && !slices.Contains(texts, text) {
			texts = append(texts, text)
		}
	}
	return strings.Join(texts, "; ")
}

func (s *Resource) updateZone(c *rest.Call) (rest.Changed, error) {
	f, z, err := zone(c)
	if err != nil {
		return rest.Changed{}, err
	}
	values, err := rest.Decode(c, &gslbfarm.ZoneUpdate)
	if err != nil {
		return rest.Changed{}, err
	}
	farmName, name := f.Name, z.Name
	_, err = c.Change(fmt.Sprintf("modify zone %s of farm %s", name, farmName), func(cfg *farm.Config) error {
		_, z, err := findZone(cfg, farmName, name)
		if err != nil {
			return err
		}
		if err := newerSerial(z, values.Get("serial")); err != nil {
			return err
		}
		return values.Apply(z)
	})
	if err != nil {
		return rest.Changed{}, err
	}
	return s.changedZone(c, farmName, name, rest.Changed{
		Description: fmt.Sprintf("Modify zone %s of farm %s", name, farmName), Params: values.Sent(),
		Message: fmt.Sprintf("Some parameters have been changed in zone %s of farm %s.", name, farmName)}), nil
}

// newerSerial rejects a serial that secondaries would ignore.
func newerSerial(z *farm.Zone, v field.Value) error {
	if serial := uint32(v.Number()); serial != 0 && serial != z.Serial && !farm.NewerSerial(serial, z.Serial) {
		return rest.BadRequest("serial: secondaries take %d for older than the serial in force, %d (RFC 1982), and would not copy the zone: set a newer one", serial, z.Serial)
	}
	return nil
}

func (s *Resource) deleteZone(c *rest.Call) (rest.Done, error) {
	f, z, err := zone(c)
	if err != nil {
		return rest.Done{}, err
	}
	farmName, name := f.Name, z.Name
	_, err = c.Change(fmt.Sprintf("delete zone %s of farm %s", name, farmName), func(cfg *farm.Config) error {
		f, _, err := findZone(cfg, farmName, name)
		if err != nil {
			return err
		}
		g := f.Zones()
		g.Zones = slices.DeleteFunc(g.Zones, func(z farm.Zone) bool { return z.Name == name })
		return nil
	})
	if err != nil {
		return rest.Done{}, err
	}
	out := rest.NewDone(fmt.Sprintf("Delete zone %s of farm %s", name, farmName), fmt.Sprintf("The zone %s has been deleted from farm %s.", name, farmName))
	out.Warning = trustWarnings(c, farmName, *z)
	return out, nil
}

func (s *Resource) createRecord(c *rest.Call) (rest.Object[RecordView], error) {
	var none rest.Object[RecordView]
	f, z, err := zone(c)
	if err != nil {
		return none, err
	}
	values, err := rest.Decode(c, &gslbfarm.RecordCreate)
	if err != nil {
		return none, err
	}
	farmName, name := f.Name, z.Name
	comment := fmt.Sprintf("add %s %s to zone %s of farm %s", values.Get("rname").Text(), values.Get("type").Text(), name, farmName)
	_, err = c.Change(comment, func(cfg *farm.Config) error {
		f, z, err := findZone(cfg, farmName, name)
		if err != nil {
			return err
		}
		var created farm.Record
		if err := values.Apply(&created); err != nil {
			return err
		}
		gslbfarm.ShortenOwner(z, &created)
		if err := answeredBy(f, z, &created); err != nil {
			return err
		}
		if err := notThere(z, &created, -1); err != nil {
			return err
		}
		z.Append(created)
		return nil
	})
	if err != nil {
		return none, err
	}
	f, now, err := findZone(c.Config, farmName, name)
	if err != nil || now.Len() == 0 {
		return none, err
	}
	added := now.At(now.Len() - 1)
	return rest.Object[RecordView]{
		Description: fmt.Sprintf("New resource of zone %s of farm %s", name, farmName), Params: recordView(now, &added),
		Message: addedRecord(values.Get("type").Text(), &added, name), Status: s.deps.State.StatusOf(c, farmName), Warning: gslbfarm.ZoneWarning(f.Zones(), now),
	}, nil
}

// addedRecord describes an added record, including the service created for an ALIAS.
func addedRecord(asked string, r *farm.Record, zone string) string {
	text := fmt.Sprintf("The resource %s has been added to zone %s.", r.Name, zone)
	if farm.RecordType(asked) == farm.RecordALIAS {
		text += fmt.Sprintf(" The service %s answers it with the addresses of that name.", r.Data)
	}
	return text
}

// answeredBy creates the service for an ALIAS record. It rejects a record whose service
// does not exist.
func answeredBy(f *farm.Farm, z *farm.Zone, r *farm.Record) error {
	if r.Type == farm.RecordALIAS {
		if err := gslbfarm.CheckAlias(r.Data); err != nil {
			return err
		}
		f.Zones().Alias(z, r)
	}
	return serviceThere(f, r)
}

// notThere rejects a duplicate of an existing record, even in another spelling. The parameter
// of is the record's own position, -1 for a new one.
func notThere(z *farm.Zone, r *farm.Record, of int) error {
	name, err := rdata.Name(r.Name, z.Name)
	if err != nil {
		return nil // validation reports the error
	}
	for i, other := range z.MayBeNamed(r.Name) {
		if i != of && other.Type == r.Type && sameName(z, other.Name, name) && sameData(z, &other, r) {
			return rest.BadRequest("the zone %s has this record already: %s %s %s (resource %d)", z.Name, other.Name, other.Type, other.Data, other.ID-1)
		}
	}
	return nil
}

func sameName(z *farm.Zone, text string, name []byte) bool {
	other, err := rdata.Name(text, z.Name)
	return err == nil && bytes.EqualFold(other, name)
}

func sameData(z *farm.Zone, a, b *farm.Record) bool {
	if a.Data == b.Data {
		return true
	}
	x, err := rdata.Pack(a.Type, a.Data, z.Name)
	if err != nil {
		return false
	}
	y, err := rdata.Pack(b.Type, b.Data, z.Name)
	return err == nil && rdata.Same(rdata.Code(a.Type), x, y)
}

// serviceThere rejects a record whose service does not exist in the farm, with a 404.
func serviceThere(f *farm.Farm, r *farm.Record) error {
	if r.Type == farm.RecordDYNA && f.Zones().Service(r.Data) == nil {
		return rest.NotFound("rdata: the service %s does not exist in the farm %s", rest.Quote(r.Data), f.Name)
	}
	return nil
}

func (s *Resource) updateRecord(c *rest.Call) (rest.Changed, error) {
	f, z, err := zone(c)
	if err != nil {
		return rest.Changed{}, err
	}
	if _, err := record(c, z); err != nil {
		return rest.Changed{}, err
	}
	values, err := rest.Decode(c, &gslbfarm.RecordUpdate)
	if err != nil {
		return rest.Changed{}, err
	}
	farmName, name, id, stored := f.Name, z.Name, c.Param("resource"), ""
	_, err = c.Change(fmt.Sprintf("modify resource %s of zone %s of farm %s", id, name, farmName), func(cfg *farm.Config) error {
		f, z, err := findZone(cfg, farmName, name)
		if err != nil {
			return err
		}
		at, err := record(c, z)
		if err != nil {
			return err
		}
		changed := z.At(at)
		if err := values.Apply(&changed); err != nil {
			return err
		}
		gslbfarm.ShortenOwner(z, &changed)
		stored = changed.Name
		if err := answeredBy(f, z, &changed); err != nil {
			return err
		}
		z.Set(at, changed)
		return notThere(z, &changed, at)
	})
	if err != nil {
		return rest.Changed{}, err
	}
	params := values.Sent()
	if _, sent := params["rname"]; sent {
		params["rname"] = stored
	}
	return s.changedZone(c, farmName, name, rest.Changed{
		Description: fmt.Sprintf("Modify resource %s of zone %s of farm %s", id, name, farmName), Params: params,
		Message: fmt.Sprintf("The resource %s of zone %s has been changed.", id, name)}), nil
}

func (s *Resource) deleteRecord(c *rest.Call) (rest.Done, error) {
	f, z, err := zone(c)
	if err != nil {
		return rest.Done{}, err
	}
	if _, err := record(c, z); err != nil {
		return rest.Done{}, err
	}
	farmName, name, id := f.Name, z.Name, c.Param("resource")
	_, err = c.Change(fmt.Sprintf("delete resource %s of zone %s of farm %s", id, name, farmName), func(cfg *farm.Config) error {
		_, z, err := findZone(cfg, farmName, name)
		if err != nil {
			return err
		}
		at, err := record(c, z)
		if err != nil {
			return err
		}
		z.Delete(at)
		return nil
	})
	if err != nil {
		return rest.Done{}, err
	}
	return rest.NewDone(fmt.Sprintf("Delete resource %s of zone %s of farm %s", id, name, farmName), fmt.Sprintf("The resource %s has been deleted from zone %s.", id, name)), nil
}
