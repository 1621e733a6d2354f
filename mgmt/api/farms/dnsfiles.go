package farms

import (
	"fmt"
	"iter"
	"slices"
	"strings"
	"time"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/core/rdata"
	"github.com/sluicelb/sluice/mgmt/api/rest"
	"github.com/sluicelb/sluice/mgmt/rbac"
	"github.com/sluicelb/sluice/mgmt/validate/field"
	"github.com/sluicelb/sluice/mgmt/validate/gslbfarm"
	"github.com/sluicelb/sluice/mgmt/zonefile"
)

const (
	// importTime is the maximum duration of an import.
	importTime = 5 * time.Minute
	// mostLines is the maximum number of lines listed in a rejection; the rest are only
	// counted.
	mostLines = 100
)

var zoneTypes = []string{"text/dns", "text/plain", "application/octet-stream"}

func (s *Resource) zoneFileOperations() []*rest.Operation {
	const one = "/farms/{farm}/zones/{zone}"
	return []*rest.Operation{
		rest.Op(rest.Post, one+"/import", rbac.FarmModify, "Import a zone from a zone file", s.importZone).TakesFile(zoneTypes).Edits().
			With("add", "true to add the records of the file to the zone; otherwise they replace its records"),
		rest.File(rest.Get, one+"/export", rbac.Open, "Export a zone as a zone file", rest.DownloadType, s.exportZone),
	}
}

// ZoneImport is the response to an import.
type ZoneImport struct {
	Zone    string         `json:"zone"`
	Serial  uint32         `json:"serial" doc:"Serial of the SOA record after the import"`
	Records int            `json:"records" doc:"Number of records in the zone now"`
	Read    int            `json:"read" doc:"Number of records in the file that zones support"`
	Skipped map[string]int `json:"skipped,omitempty" doc:"Records that servers generate themselves, e.g. signatures, by type; these were skipped"`
}

func (s *Resource) importZone(c *rest.Call) (rest.Object[ZoneImport], error) {
	var none rest.Object[ZoneImport]
	f, z, err := zone(c)
	if err != nil {
		return none, err
	}
	add, err := c.Flag("add")
	if err != nil {
		return none, err
	}
	c.MayTake(importTime)
	raw, err := rest.ReadBody(c.Request, zonefile.MaxSize, zoneTypes)
	if err != nil {
		return none, err
	}
	if len(raw) == 0 {
		return none, rest.BadRequest("the body is empty: send a master file, as `$TTL 300` and `www A 192.0.2.1`")
	}
	read := zonefile.Parse(raw, z.Name)
	farmName, name := f.Name, z.Name
	_, err = c.Change(fmt.Sprintf("import zone %s of farm %s", name, farmName), func(cfg *farm.Config) error {
		f, z, err := findZone(cfg, farmName, name)
		if err != nil {
			return err
		}
		taken := read
		var was *farm.Zone // whose records are still there
		if add {
			before := *z
			was = &before
		}
		problems := append(slices.Clone(read.Problems), makeAliases(f, &taken)...)
		lines := takeFile(z, &taken, add)
		return refusedFile(append(problems, brokenRules(f, was, z, lines)...), read.More)
	})
	if err != nil {
		return none, err
	}
	out := ZoneImport{Zone: name, Read: len(read.Zone.Records), Skipped: read.Skipped}
	_, now, err := findZone(c.Config, farmName, name)
	if err != nil {
		return none, err
	}
	out.Serial, out.Records = now.Serial, now.Len()
	return rest.Object[ZoneImport]{Description: fmt.Sprintf("Import zone %s of farm %s", name, farmName), Params: out,
		Message: fmt.Sprintf("The zone %s has been imported: it has %d records.", name, out.Records),
		Status:  s.deps.State.StatusOf(c, farmName), Warning: importWarning(&read, gslbfarm.ZoneWarning(f.Zones(), now))}, nil
}

// importWarning joins the warnings about a file and the one about its zone.
func importWarning(read *zonefile.Read, zone string) string {
	list := read.Warnings()
	if zone != "" {
		list = append(list, zone)
	}
	return strings.Join(list, "; ")
}

// makeAliases creates the services for the ALIAS records of a file, and reports the lines
// for which none is possible.
func makeAliases(f *farm.Farm, read *zonefile.Read) (out []zonefile.Problem) {
	read.Zone.Records = slices.Clone(read.Zone.Records)
	gslbfarm.MakeAliases(f.Zones(), &read.Zone, func(i int, err field.Error) bool {
		out = append(out, zonefile.Problem{Line: read.Lines[i], Text: err.Message})
		return true
	})
	return out
}

// takeFile imports the records of a file into a zone. It returns the lines of the last records
// of the zone; others existed before.
func takeFile(z *farm.Zone, read *zonefile.Read, add bool) (lines []int) {
	if !add {
		of := &read.Zone
		z.SetRecords(slices.Clone(of.Records))
		z.TTL = of.TTL
		if of.NameServer != "" {
			z.NameServer, z.Serial = of.NameServer, of.Serial
		}
		return read.Lines
	}
	there := map[string]bool{}
	for _, r := range namedAs(z, read.Zone.Records) {
		there[keyIn(z, &r)] = true
	}
	var added []farm.Record
	for i, r := range read.Zone.Records {
		if k := keyIn(z, &r); r.Type != "SOA" && !there[k] {
			if r.TTL == 0 && read.Zone.TTL != z.TTL { // make the implied TTL explicit
				r.TTL = farm.StoredTTL(read.Zone.EffectiveTTL())
			}
			there[k] = true
			added, lines = append(added, r), append(lines, read.Lines[i])
		}
	}
	z.Append(added...)
	return lines
}

// keyIn identifies equal records of a zone, however they are spelled.
func keyIn(z *farm.Zone, r *farm.Record) string {
	of := *r
	if owner, err := rdata.Owner(r.Name, z.Name); err == nil {
		of.Name = owner
	}
	data, err := rdata.Pack(r.Type, r.Data, z.Name)
	if err != nil { // a record of a service, or an invalid one
		return of.Key()
	}
	return strings.ToLower(of.Name) + " " + string(r.Type) + " " + string(rdata.Canonical(rdata.Code(r.Type), data))
}

// fewRecords is up to how many records are looked up in a zone instead of reading all of it.
const fewRecords = 1000

// namedAs yields the records of a zone that have the name of one in a list, and others.
func namedAs(z *farm.Zone, list []farm.Record) iter.Seq2[int, farm.Record] {
	if len(list) > fewRecords {
		return z.All()
	}
	names := make([]string, len(list))
	for i := range list {
		names[i] = list[i].Name
	}
	return z.MayBeNamed(names...)
}

// brokenRules returns the violations of record rules by a zone whose last records come from
// these lines of a file. was is the zone before their addition, or nil.
func brokenRules(f *farm.Farm, was, z *farm.Zone, lines []int) (out []zonefile.Problem) {
	first := z.Len() - len(lines)
	gslbfarm.CheckEdited(f, was, z, func(i int, err field.Error) bool {
		if z.At(i).Type != farm.RecordALIAS { // makeAliases reports these
			line := 0
			if i >= first {
				line = lines[i-first]
			}
			out = append(out, zonefile.Problem{Line: line, Text: err.Message})
		}
		return true
	})
	return out
}

// refusedFile returns a rejection that lists the faulty lines, or nil if there are none.
// more is the number of further problems.
func refusedFile(problems []zonefile.Problem, more int) error {
	if len(problems) == 0 {
		return nil
	}
	slices.SortStableFunc(problems, func(a, b zonefile.Problem) int { return a.Line - b.Line })
	var texts []string
	for _, p := range problems[:min(len(problems), mostLines)] {
		texts = append(texts, p.Error())
	}
	if more += len(problems) - len(texts); more > 0 {
		texts = append(texts, fmt.Sprintf("%d more lines are faulty; sluice zone check names them all", more))
	}
	return rest.BadRequest("the file cannot be imported: %s", strings.Join(texts, "; "))
}

func (s *Resource) exportZone(c *rest.Call) ([]byte, error) {
	f, z, err := zone(c)
	if err != nil {
		return nil, err
	}
	if z.Name == farm.RootZone {
		c.SaveAs("root.zone")
	} else {
		c.SaveAs(z.Name + ".zone")
	}
	return zonefile.Text(f.Zones(), z), nil
}
