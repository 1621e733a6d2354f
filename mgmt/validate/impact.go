package validate

import (
	"slices"
	"strconv"

	"github.com/sluicelb/sluice/core/farm"
)

// Impact is what a change costs the traffic of one farm, beyond what every change
// costs: nothing.
type Impact struct {
	Farm string
	// Cost is CostConnections, CostRestart, CostTraffic or CostCut.
	Cost Cost
	// Fields are those whose change it is that costs it; empty with CostTraffic and
	// CostCut.
	Fields []string
	// Backends are those whose connections end, with CostCut: "10.0.0.1:80 of service
	// web of farm shop".
	Backends []string
}

// CostTraffic is the cost of a farm that is stopped or deleted: all that it carries.
const CostTraffic Cost = "traffic"

// CostCut is the cost of maintenance that ends the connections of backends.
const CostCut Cost = "cut"

// Impacts lists what the step from one configuration to another costs, farm by farm
// in the order of the first. A farm is known by its ID.
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

// impactsOf are those of a farm that stays.
func impactsOf(old, next *farm.Farm) (out []Impact) {
	byCost := map[Cost][]string{}
	if old.VIP != next.VIP {
		byCost[CostRestart] = append(byCost[CostRestart], "vip")
	}
	for _, p := range profiles {
		if p.Name() != old.Profile {
			continue
		}
		for name, cost := range p.Farm().Update.changed(old, next) {
			if !slices.Contains(byCost[cost], name) {
				byCost[cost] = append(byCost[cost], name)
			}
		}
	}
	for _, cost := range []Cost{CostRestart, CostConnections} {
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

// cutOff are the backends whose maintenance begins to cut.
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

// portOf is a backend's port as it stands behind its address; one that keeps the
// client's has none.
func portOf(b *farm.Backend) string {
	if b.Port == 0 {
		return ""
	}
	return ":" + strconv.Itoa(int(b.Port))
}

// changed are the fields that differ and whose change costs something, by name.
func (t *Table[T]) changed(old, next *T) map[string]Cost {
	out := map[string]Cost{}
	for i := range t.fields {
		f := &t.fields[i]
		if f.get != nil && f.cost != CostNone && f.cost != "" && !f.get(old).equal(f.get(next)) {
			out[f.name] = f.cost
		}
	}
	return out
}
