package farms

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/mgmt/api/rest"
	"github.com/sluicelb/sluice/mgmt/rbac"
	"github.com/sluicelb/sluice/mgmt/validate/field"
	"github.com/sluicelb/sluice/mgmt/validate/gslbfarm"
)

const (
	// mostItems is the maximum number of records that one call adds, changes and deletes.
	mostItems = 10_000
	bulkSize  = 16 << 20
)

func (s *Resource) bulkOperations() []*rest.Operation {
	return []*rest.Operation{
		rest.Op(rest.Post, "/farms/{farm}/zones/{zone}/resources/bulk", rbac.FarmModify, "Add, change and delete many resources of a zone", s.changeRecords).Body(bulkFields{}).Edits(),
	}
}

// bulkFields is the body of a bulk change of records.
type bulkFields struct{}

// Params lists the fields for help responses and OpenAPI.
func (bulkFields) Params() []field.Param {
	example := func(of any) field.Plain { return field.Plain{Example: []any{of}} }
	least := int64(0)
	id := rest.Needed("id", "Number of the resource.")
	id.Format, id.Plain = "integer", field.Plain{Type: "integer", Min: &least, Example: 1}
	return []field.Param{
		{Name: "resources", Format: "object", Options: []string{"list"}, Of: gslbfarm.RecordCreate.Params(),
			Plain:       example(map[string]any{"rname": "www", "type": "A", "rdata": "192.0.2.10"}),
			Description: fmt.Sprintf("Resources to add, each as it is created alone. At most %d are added, changed and deleted together: all of them or none.", mostItems)},
		{Name: "change", Format: "object", Options: []string{"list"}, Of: append([]field.Param{id}, gslbfarm.RecordUpdate.Params()...),
			Plain:       example(map[string]any{"id": 1, "rdata": "192.0.2.53"}),
			Description: "Resources to change, each by its id, with what is to be different."},
		{Name: "delete", Format: "integer", Interval: "0,", Options: []string{"list"}, Description: "Ids of resources to delete."},
	}
}

// RecordsChanged is the response to a bulk change of records.
type RecordsChanged struct {
	Zone    string `json:"zone"`
	Serial  uint32 `json:"serial" doc:"Serial of the SOA record after the change"`
	Records int    `json:"records" doc:"Number of records in the zone now"`
	Added   []int  `json:"added" doc:"IDs of the added resources, in the order of the body"`
	Changed int    `json:"changed" doc:"Number of changed entries"`
	Deleted int    `json:"deleted" doc:"Number of deleted entries"`
}

func (s *Resource) changeRecords(c *rest.Call) (rest.Object[RecordsChanged], error) {
	var none rest.Object[RecordsChanged]
	f, z, err := zone(c)
	if err != nil {
		return none, err
	}
	c.MayTake(importTime)
	raw, err := rest.ReadBody(c.Request, bulkSize, []string{"application/json", "text/plain"})
	if err != nil {
		return none, err
	}
	asked, err := readBulk(raw)
	if err != nil {
		return none, err
	}
	farmName, name := f.Name, z.Name
	comment := fmt.Sprintf("change records of zone %s of farm %s: %d added, %d changed, %d deleted", name, farmName, len(asked.add), len(asked.change), len(asked.gone))
	_, err = c.Change(comment, func(cfg *farm.Config) error {
		f, z, err := findZone(cfg, farmName, name)
		if err != nil {
			return err
		}
		return asked.edit(f, z)
	})
	if err != nil {
		return none, err
	}
	f, now, err := findZone(c.Config, farmName, name)
	if err != nil {
		return none, err
	}
	out := RecordsChanged{Zone: name, Serial: now.Serial, Records: now.Len(), Added: []int{}, Changed: len(asked.change), Deleted: len(asked.gone)}
	for _, r := range now.Slice(now.Len()-len(asked.add), now.Len()) {
		out.Added = append(out.Added, int(r.ID)-1)
	}
	return rest.Object[RecordsChanged]{Description: fmt.Sprintf("Change resources of zone %s of farm %s", name, farmName), Params: out,
		Message: fmt.Sprintf("The records of zone %s have been changed: %d added, %d changed, %d deleted.", name, len(out.Added), out.Changed, out.Deleted),
		Status:  s.deps.State.StatusOf(c, farmName), Warning: gslbfarm.ZoneWarning(f.Zones(), now)}, nil
}

// bulk is a bulk change of the records of a zone, in the order of the body.
type bulk struct {
	add    []field.Values[farm.Record]
	change []recordChange
	gone   []int
}

// recordChange is the change of one record.
type recordChange struct {
	id     int
	values field.Values[farm.Record]
}

func readBulk(raw []byte) (bulk, error) {
	var body struct {
		Resources []json.RawMessage `json:"resources"`
		Change    []json.RawMessage `json:"change"`
		Delete    []json.RawMessage `json:"delete"`
	}
	if len(bytes.TrimSpace(raw)) == 0 {
		return bulk{}, rest.Help(bulkFields{})
	}
	if err := rest.Strictly(raw, &body, "resources", "change", "delete"); err != nil {
		return bulk{}, rest.BadRequest("the body is {\"resources\": [{…}], \"change\": [{\"id\": 1, …}], \"delete\": [2]}: %s", err)
	}
	switch n := len(body.Resources) + len(body.Change) + len(body.Delete); {
	case n == 0:
		return bulk{}, rest.Help(bulkFields{})
	case n > mostItems:
		return bulk{}, rest.BadRequest("%d resources are too many for one call: at most %d are possible", n, mostItems)
	}
	var out bulk
	var wrong refusals
	for i, raw := range body.Resources {
		values, err := decodeItem(raw, &gslbfarm.RecordCreate)
		wrong.note(itemOf("resources", i), err)
		out.add = append(out.add, values)
	}
	for i, raw := range body.Change {
		one, err := decodeChange(raw)
		wrong.note(itemOf("change", i), err)
		out.change = append(out.change, one)
	}
	for i, raw := range body.Delete {
		id, err := idOf(json.Number(raw))
		wrong.note(itemOf("delete", i), err)
		out.gone = append(out.gone, id)
	}
	return out, wrong.rejection()
}

// itemOf names an item of a list of the body.
func itemOf(list string, i int) string { return fmt.Sprintf("%s[%d]", list, i) }

func decodeItem(raw json.RawMessage, table *field.Table[farm.Record]) (field.Values[farm.Record], error) {
	fields, err := rest.DecodeObject(raw)
	if err != nil {
		return field.Values[farm.Record]{}, err
	}
	return table.Decode("", fields)
}

func decodeChange(raw json.RawMessage) (recordChange, error) {
	fields, err := rest.DecodeObject(raw)
	if err != nil {
		return recordChange{}, err
	}
	number, _ := fields["id"].(json.Number)
	id, err := idOf(number)
	if err != nil {
		return recordChange{}, err
	}
	delete(fields, "id")
	if len(fields) == 0 {
		return recordChange{}, rest.BadRequest("nothing of resource %d is to be different", id)
	}
	values, err := gslbfarm.RecordUpdate.Decode("", fields)
	return recordChange{id, values}, err
}

func idOf(n json.Number) (int, error) {
	id, err := strconv.Atoi(field.Whole(n))
	if err != nil || id < 0 {
		return 0, &field.Error{Field: "id", Message: "id must be the number of a resource, as GET lists it"}
	}
	return id, nil
}

// edit applies the whole change to a zone, or reports the invalid items.
func (b *bulk) edit(f *farm.Farm, z *farm.Zone) error {
	var wrong refusals
	was := *z
	at := z.Positions(b.numbers())
	items := map[int]string{} // the item of the body for each position
	claim := func(id int, item string) (position int, is bool) {
		position, is = at[id]
		switch {
		case !is:
			wrong.note(item, &field.Error{Field: "id", Message: fmt.Sprintf("the resource %d does not exist in the zone %s", id, z.Name)})
		case items[position] != "":
			wrong.note(item, &field.Error{Field: "id", Message: fmt.Sprintf("the resource %d is given twice, in %s too", id, items[position])})
			is = false
		default:
			items[position] = item
		}
		return position, is
	}
	changed, gone := map[int]farm.Record{}, map[int]bool{}
	for i, one := range b.change {
		if p, is := claim(one.id, itemOf("change", i)); is {
			r := z.At(p)
			wrong.note(items[p], setRecord(f, z, &r, one.values))
			changed[p] = r
		}
	}
	for i, id := range b.gone {
		if p, is := claim(id, itemOf("delete", i)); is {
			gone[p] = true
		}
	}
	z.Edit(changed, gone)
	left := z.Len()
	added := make([]farm.Record, len(b.add))
	for i, values := range b.add {
		wrong.note(itemOf("resources", i), setRecord(f, z, &added[i], values))
	}
	z.Append(added...)
	if len(wrong.texts) == 0 {
		itemAt := without(items, gone)
		gslbfarm.CheckEdited(f, &was, z, func(i int, err field.Error) bool {
			item := itemAt[i]
			switch {
			case i >= left:
				item = itemOf("resources", i-left)
			case item == "":
				item = fmt.Sprintf("resource %d", z.At(i).ID-1)
			}
			return wrong.note(item, &err)
		})
	}
	return wrong.rejection()
}

// numbers returns the numbers of the records to change and to delete.
func (b *bulk) numbers() []int {
	out := slices.Clone(b.gone)
	for _, one := range b.change {
		out = append(out, one.id)
	}
	return out
}

// setRecord changes a record to the values of the body. The rules of the whole zone are
// validated later.
func setRecord(f *farm.Farm, z *farm.Zone, r *farm.Record, values field.Values[farm.Record]) error {
	if err := values.Apply(r); err != nil {
		return err
	}
	gslbfarm.ShortenOwner(z, r)
	if r.Type != farm.RecordALIAS {
		return nil
	}
	if err := gslbfarm.CheckAlias(r.Data); err != nil {
		return err
	}
	f.Zones().Alias(z, r)
	return nil
}

// without returns the items by the positions after records are gone.
func without(items map[int]string, gone map[int]bool) map[int]string {
	removed := slices.Sorted(maps.Keys(gone))
	out := make(map[int]string, len(items))
	for p, item := range items {
		if before, is := slices.BinarySearch(removed, p); !is {
			out[p-before] = item
		}
	}
	return out
}

// refusals collects the errors of the items of a body.
type refusals struct{ texts []string }

// note records the error of an item, if any. It reports whether there is room for more.
func (r *refusals) note(item string, err error) bool {
	if err != nil && len(r.texts) < mostLines {
		text := err.Error()
		if broken, is := err.(*field.Error); is {
			item, text = item+"."+broken.Field, strings.TrimPrefix(broken.Message, broken.Field+": ")
		}
		r.texts = append(r.texts, item+": "+text)
	}
	return len(r.texts) < mostLines
}

func (r *refusals) rejection() error {
	if len(r.texts) == 0 {
		return nil
	}
	return rest.BadRequest("%s; nothing was changed", strings.Join(r.texts, "; "))
}
