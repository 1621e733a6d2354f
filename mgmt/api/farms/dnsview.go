package farms

import (
	"cmp"
	"slices"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/mgmt/api/rest"
	"github.com/sluicelb/sluice/mgmt/api/state"
	"github.com/sluicelb/sluice/mgmt/farmstate"
	"github.com/sluicelb/sluice/mgmt/validate/field"
	"github.com/sluicelb/sluice/mgmt/validate/gslbfarm"
)

// DNSFarmView describes a gslb farm without its services and zones.
type DNSFarmView = rest.View[aboutDNSFarm]

type aboutDNSFarm struct {
	FarmName string       `json:"farmname"`
	Profile  farm.Profile `json:"profile"`
	Status   farm.Status  `json:"status"`
	state.FarmState
	Problem  string   `json:"problem,omitempty" doc:"Reason why the farm is not running, or why its last start failed"`
	VIP      string   `json:"vip"`
	VPort    uint16   `json:"vport"`
	Listener string   `json:"listener" enum:"gslb"`
	Warnings []string `json:"warnings,omitempty" doc:"Parts of the farm that currently cannot work"`
}

func (aboutDNSFarm) Table() (string, []field.Answered) {
	return "DNSFarmView", gslbfarm.Answer.Answers()
}

func (s *Resource) dnsFarmView(c *rest.Call, f *farm.Farm) DNSFarmView {
	now := s.deps.State.Now(c)
	status, problem := now.Look(f)
	return DNSFarmView{Fields: gslbfarm.Answer.Answer(f), About: aboutDNSFarm{
		FarmName: f.Name, Profile: f.Profile, Status: status, FarmState: now.FarmState(f), Problem: problem,
		VIP: f.VIP.String(), VPort: f.VPort, Listener: string(farm.ProfileGSLB), Warnings: s.deps.State.Warnings(c, f),
	}}
}

// DNSFarmDetails is the response for one gslb farm, DNSFarmSummary that for a summary.
type (
	DNSFarmDetails struct {
		Description string           `json:"description"`
		Params      DNSFarmView      `json:"params"`
		Services    []DNSServiceView `json:"services"`
		Zones       []ZoneView       `json:"zones"`
		IPDS        IPDS             `json:"ipds"`
	}
	DNSFarmSummary struct {
		Description string        `json:"description"`
		Params      DNSFarmView   `json:"params"`
		Services    []ServiceName `json:"services"`
		Zones       []ServiceName `json:"zones"`
		IPDS        IPDS          `json:"ipds"`
	}
)

// DNSServiceView describes a service of a gslb farm.
type DNSServiceView = rest.View[aboutDNSService]

type aboutDNSService struct {
	ID string `json:"id"`
	state.ServiceState
	Backends []DNSBackendView `json:"backends"`
}

func (aboutDNSService) Table() (string, []field.Answered) {
	return "DNSServiceView", gslbfarm.ServiceUpdate.Answers()
}

func (s *Resource) dnsServiceView(c *rest.Call, g farm.Group) DNSServiceView {
	list := []DNSBackendView{}
	for i := range g.Backends() {
		list = append(list, s.dnsBackendView(c, g, i))
	}
	return DNSServiceView{Fields: gslbfarm.ServiceUpdate.Answer(g.Farm.Global.Service(g.Name())), About: aboutDNSService{
		ID: g.Name(), ServiceState: s.deps.State.Now(c).ServiceState(g), Backends: list}}
}

// DNSBackendView describes a backend of a service of a gslb farm.
type DNSBackendView = rest.View[aboutDNSBackend]

type aboutDNSBackend struct {
	ID     int         `json:"id"`
	IP     string      `json:"ip"`
	Status farm.Status `json:"status"`
	state.BackendState
	Problem string `json:"problem,omitempty" doc:"Reason why the backend is not returned"`
	Mode    string `json:"maintenance_mode,omitempty" enum:"drain,cut" doc:"Maintenance mode of the backend"`
	// Resolution is nil for a backend with an address.
	Resolution *state.Resolution `json:"resolution,omitempty" doc:"For a backend with a host name"`
}

func (aboutDNSBackend) Table() (string, []field.Answered) {
	return "DNSBackendView", gslbfarm.BackendAnswer.Answers()
}

func (s *Resource) dnsBackendView(c *rest.Call, g farm.Group, i int) DNSBackendView {
	b := &g.Backends()[i]
	r := s.deps.State.Resolution(g, i)
	return DNSBackendView{Fields: called(c, b, gslbfarm.BackendAnswer.Answer(b)), About: aboutDNSBackend{
		ID: g.Number(i), IP: b.ShownAddress(), Status: farmstate.In(g, i, s.deps.Health), BackendState: s.deps.State.BackendState(g, i),
		Problem: cmp.Or(s.deps.State.BackendProblem(c, b), state.NameProblem(b, r)), Mode: string(b.Maintenance), Resolution: r}}
}

// ZoneView describes a zone.
type ZoneView = rest.View[aboutZone]

type aboutZone struct {
	ID    string        `json:"id" doc:"Domain"`
	Keys  []ZoneKeyView `json:"keys" doc:"Current, previous and future signing keys"`
	Count int           `json:"record_count" doc:"Number of records"`
	Types []string      `json:"record_types" doc:"Types of the records, sorted"`
	// Resources is nil if the records are only counted.
	Resources []RecordView `json:"resources,omitzero" doc:"Records, in order; absent with records=count, and by default in zones of more than 10000 records"`
}

func (aboutZone) Table() (string, []field.Answered) {
	return "ZoneView", gslbfarm.ZoneUpdate.Answers()
}

func zoneView(z *farm.Zone, of detail) ZoneView {
	v := ZoneView{Fields: gslbfarm.ZoneUpdate.Answer(z), About: aboutZone{ID: z.Name, Keys: keyViews(z), Count: z.Len(), Types: recordTypes(z)}}
	if of == everything || of == smallZones && z.Len() <= mostListed {
		v.About.Resources = recordViews(z)
	}
	return v
}

// recordTypes returns the types of the records of a zone, sorted.
func recordTypes(z *farm.Zone) []string {
	types := []string{}
	for _, t := range z.Types() {
		types = append(types, string(t))
	}
	slices.Sort(types)
	return types
}

// detail is the detail in which a response describes zones.
type detail int

const (
	smallZones     detail = iota // with the records of zones that do not have too many
	everything                   // with all records
	recordsCounted               // without records
)

// mostListed is the maximum number of records of a zone that a response shows by default. A
// million records take the appliance 8 s and a gigabyte of memory.
const mostListed = 10_000

// recordsQuery is the query parameter for the detail of zones.
const (
	recordsQuery = "records"
	aboutRecords = "count leaves out the records of zones (resources) and keeps their number (record_count), all never leaves them out. By default zones of more than 10000 records have none; read these in pages from /farms/{farm}/zones/{zone}/resources."
)

func detailOf(c *rest.Call) (detail, error) {
	v, err := rest.OneOf(c, recordsQuery, []string{"all", "count"})
	if err != nil {
		return smallZones, err
	}
	return map[string]detail{"all": everything, "count": recordsCounted}[v], nil
}

// RecordView describes a record.
type RecordView = rest.View[aboutRecord]

type aboutRecord struct {
	ID   int    `json:"id"`
	Zone string `json:"zone"`
}

func (aboutRecord) Table() (string, []field.Answered) {
	return "RecordView", gslbfarm.RecordUpdate.Answers()
}

func recordView(z *farm.Zone, r *farm.Record) RecordView {
	return RecordView{Fields: gslbfarm.RecordUpdate.Answer(r), About: aboutRecord{ID: int(r.ID) - 1, Zone: z.Name}}
}

func recordViews(z *farm.Zone) []RecordView {
	out := make([]RecordView, z.Len())
	for i, r := range z.All() {
		out[i] = recordView(z, &r)
	}
	return out
}
