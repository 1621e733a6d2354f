package eventlog

import (
	"reflect"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/mgmt/store"
)

// Changed returns the events of an active revision: which farms it changed, which backends
// it put into or out of maintenance, and which farms it deleted.
func Changed(old, now *farm.Config, rev store.Revision) (list []Event) {
	gone, came := farm.Apart(old.Farms, now.Farms)
	was := make(map[uint32]*farm.Farm, len(gone))
	for i := range gone {
		was[gone[i].ID] = &gone[i]
	}
	touched := Event{Time: rev.Time, Kind: Revision, Revision: rev.Number}
	name := ""
	for i := range came {
		f := &came[i]
		before := was[f.ID]
		delete(was, f.ID)
		if before != nil && reflect.DeepEqual(before, f) {
			continue
		}
		touched.Farms, name = append(touched.Farms, f.ID), f.Name
		if before != nil {
			list = append(list, maintained(before, f, rev)...)
		}
	}
	for i := range gone { // in their order
		if f := was[gone[i].ID]; f != nil {
			touched.Farms, name = append(touched.Farms, f.ID), f.Name
			list = append(list, Event{Time: rev.Time, Kind: Deleted, Farms: []uint32{f.ID}, Farm: f.Name, Revision: rev.Number})
		}
	}
	if len(touched.Farms) == 1 {
		touched.Farm = name
	}
	return append([]Event{touched}, list...)
}

// maintained returns the events of backends that were put into or out of maintenance.
func maintained(before, f *farm.Farm, rev store.Revision) (list []Event) {
	was := map[uint32]farm.Maintenance{}
	for _, g := range before.Groups() {
		for _, b := range g.Backends() {
			was[b.ID] = b.Maintenance
		}
	}
	for _, g := range f.Groups() {
		for k, b := range g.Backends() {
			mode, had := was[b.ID]
			if !had || mode == b.Maintenance || b.Of != 0 {
				continue
			}
			e := About(g, k, Maintenance)
			e.Time, e.Revision, e.Detail = rev.Time, rev.Number, "by "+rev.Author
			switch b.Maintenance {
			case farm.MaintenanceOff:
				e.Text = "is used again after maintenance"
			default:
				e.Severity, e.Text = Warning, "was taken out for maintenance ("+string(b.Maintenance)+")"
			}
			list = append(list, e)
		}
	}
	return list
}
