package validate

import (
	"slices"
	"strconv"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/mgmt/validate/field"
	"github.com/sluicelb/sluice/mgmt/validate/profile"
)

// Impact is the cost of a change for the traffic of one farm, beyond field.CostNone.
type Impact struct {
	Farm string
	// Cost is field.CostConnections, field.CostRestart, CostTraffic or CostCut.
	Cost field.Cost
	// Fields lists the changed fields that cause the cost; empty with CostTraffic and
	// CostCut.
	Fields []string
	// Backends lists the backends whose connections end with CostCut, e.g. "10.0.0.1:80 of
	// service web of farm shop".
	Backends []string
}

// CostTraffic is the cost of stopping or deleting a farm: all of its traffic.
const CostTraffic field.Cost = "traffic"

// CostCut is the cost of maintenance that closes connections to backends.
const CostCut field.Cost = "cut"

// Impacts lists the costs of a change, in the order of farms in from. Farms are identified
// by stable ID.
func Impacts(from, to *farm.Config) (out []Impact) {
	for i := range from.Farms {
		old := &from.Farms[i]
		if old.Stopped {
			continue
		}
		at := slices.IndexFunc(to.Farms, func(f farm.Farm) bool { return f.ID == old.ID })
		if at < 0 || to.Farms[at].Stopped {
			out = append(out, Impact{Farm: old.Name, Cost: CostTraffic})
			continue
		}
		out = append(out, impactsOf(old, &to.Farms[at])...)
	}
	return out
}

// impactsOf returns the impacts on a remaining farm.
func impactsOf(old, next *farm.Farm) (out []Impact) {
	byCost := map[field.Cost][]string{}
	if old.VIP != next.VIP {
		byCost[field.CostRestart] = append(byCost[field.CostRestart], "vip")
	}
	for _, p := range profile.All() {
		if p.Name() != old.Profile {
			continue
		}
		for name, cost := range p.Farm().Update.Costs(old, next) {
			if !slices.Contains(byCost[cost], name) {
				byCost[cost] = append(byCost[cost], name)
			}
		}
	}
	for _, cost := range []field.Cost{field.CostRestart, field.CostConnections} {
		if fields := byCost[cost]; len(fields) > 0 {
			slices.Sort(fields)
			out = append(out, Impact{Farm: old.Name, Cost: cost, Fields: fields})
		}
	}
	if cut := cutOff(old, next); len(cut) > 0 {
		out = append(out, Impact{Farm: old.Name, Cost: CostCut, Backends: cut})
	}
	return out
}

// cutOff returns the backends whose maintenance changes to cut.
func cutOff(old, next *farm.Farm) (out []string) {
	before := map[uint32]farm.Maintenance{}
	for _, g := range old.Groups() {
		for _, b := range g.Backends() {
			before[b.ID] = b.Maintenance
		}
	}
	for _, g := range next.Groups() {
		for _, b := range g.Backends() {
			if was, known := before[b.ID]; known && was != farm.MaintenanceCut && b.Maintenance == farm.MaintenanceCut {
				out = append(out, b.ShownAddress()+portOf(&b)+" of "+g.String())
			}
		}
	}
	return out
}

// portOf returns the port of a backend as a suffix of its address, "" if it uses the
// client's port.
func portOf(b *farm.Backend) string {
	if b.Port == 0 {
		return ""
	}
	return ":" + strconv.Itoa(int(b.Port))
}
