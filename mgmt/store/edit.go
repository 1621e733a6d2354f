package store

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

	"github.com/sluicelb/sluice/core/farm"
)

// zoneItem is an item of a revision after a large farm, about one of its zones. An item that
// names no zone continues the zone of the previous item.
type zoneItem struct {
	// Zone is 1 + the position of the zone in the farm.
	Zone uint32 `cbor:"1,keyasint,omitempty"`
	// Base is 1 + the position of the zone in the previous revision of the farm, whose records
	// are edited. If it is 0, Records are the zone's records or more of them.
	Base uint32 `cbor:"2,keyasint,omitempty"`
	// Cuts holds triples of unsigned varints: position in the old records, number of removed
	// records, and number of new ones from Records.
	Cuts    []byte `cbor:"3,keyasint,omitempty"`
	Records chunk  `cbor:"4,keyasint,omitempty"`
}

// zoneEdit creates the records of a zone from its records in the previous revision.
type zoneEdit struct {
	zone, base int // positions in the farm and in the farm before
	cuts       []recordCut
}

// recordCut replaces gone records by others.
type recordCut struct {
	at, gone int // position in the old list, number
	records  []farm.Record
}

// cutsBetween returns the cuts that turn a zone with that many old records into new; runs stay.
// fresh is the number of new records.
func cutsBetween(old int, new *farm.Zone, runs []farm.RecordRun) (cuts []recordCut, fresh int) {
	i, j := 0, 0
	for _, run := range append(slices.Clip(runs), farm.RecordRun{Old: old, New: new.Len()}) {
		if run.Old > i || run.New > j {
			cuts = append(cuts, recordCut{i, run.Old - i, new.Slice(j, run.New)})
			fresh += run.New - j
		}
		i, j = run.Old+run.Length, run.New+run.Length
	}
	return cuts, fresh
}

var errEdit = errors.New("an edit of records does not fit the zone")

// fewCuts is the number of cuts up to which each is done separately, moving all later records.
const fewCuts = 8

// applyTo returns the records after the edit. inPlace permits it to reuse the memory of old.
func (e *zoneEdit) applyTo(old []farm.Record, inPlace bool) ([]farm.Record, error) {
	size, end, same := len(old), 0, true
	for _, c := range e.cuts {
		if c.at < end || c.gone < 0 || c.at+c.gone > len(old) {
			return nil, errEdit
		}
		end = c.at + c.gone
		size += len(c.records) - c.gone
		same = same && c.gone == len(c.records)
	}
	if inPlace && same {
		for _, c := range e.cuts {
			copy(old[c.at:], c.records)
		}
		return old, nil
	}
	if inPlace && len(e.cuts) <= fewCuts {
		for _, c := range slices.Backward(e.cuts) {
			old = slices.Replace(old, c.at, c.at+c.gone, c.records...)
		}
		return old, nil
	}
	out := make([]farm.Record, 0, size)
	end = 0
	for _, c := range e.cuts {
		out = append(append(out, old[end:c.at]...), c.records...)
		end = c.at + c.gone
	}
	return append(out, old[end:]...), nil
}

// item returns the edit in its stored form.
func (e *zoneEdit) item() *zoneItem {
	i := &zoneItem{Zone: uint32(e.zone + 1), Base: uint32(e.base + 1)}
	var records []farm.Record
	for _, c := range e.cuts {
		for _, n := range []int{c.at, c.gone, len(c.records)} {
			i.Cuts = binary.AppendUvarint(i.Cuts, uint64(n))
		}
		records = append(records, c.records...)
	}
	if len(records) > 0 {
		i.Records = chunkOf(records)
	}
	return i
}

// edit returns the edit of an item.
func (i *zoneItem) edit() (zoneEdit, error) {
	e := zoneEdit{zone: int(i.Zone) - 1, base: int(i.Base) - 1}
	records, err := i.Records.appendTo(nil)
	if err != nil {
		return e, err
	}
	for list := i.Cuts; len(list) > 0; {
		var fields [3]uint64
		for k := range fields {
			n, size := binary.Uvarint(list)
			if size <= 0 || n > maxRecord {
				return e, errEdit
			}
			fields[k], list = n, list[size:]
		}
		at, gone, n := fields[0], fields[1], fields[2]
		if n > uint64(len(records)) {
			return e, errEdit
		}
		e.cuts = append(e.cuts, recordCut{int(at), int(gone), records[:n:n]})
		records = records[n:]
	}
	if len(records) > 0 {
		return e, errEdit
	}
	return e, nil
}

// put adds a farm to the change: as a whole, or with edits of its zones if these are shorter.
func (c *change) put(f, was *farm.Farm, zones []zoneStep) {
	if zones == nil {
		c.Farms = append(c.Farms, *f)
		return
	}
	short := bare(f)
	var edits []zoneEdit
	for z, step := range zones {
		zone := &zonesOf(f)[z]
		if step.was >= 0 {
			cuts, fresh := cutsBetween(zonesOf(was)[step.was].Len(), zone, step.runs)
			if fresh <= zone.Len()/2 {
				edits = append(edits, zoneEdit{z, step.was, cuts})
				continue
			}
		}
		zonesOf(&short)[z].ShareRecords(zone)
	}
	c.Farms = append(c.Farms, short)
	c.edit(f.ID, edits...)
}

// edit adds edits of a farm.
func (c *change) edit(id uint32, edits ...zoneEdit) {
	if len(edits) == 0 {
		return
	}
	if c.edits == nil {
		c.edits = map[uint32][]zoneEdit{}
	}
	c.edits[id] = append(c.edits[id], edits...)
}

// edited returns a farm of the change with the records created by its edits; before is the
// previous revision of the farm.
func (c *change) edited(f *farm.Farm, before *farm.Farm, inPlace bool) (*farm.Farm, error) {
	edits := c.edits[f.ID]
	if edits == nil {
		return f, nil
	}
	if before == nil || before.Zones() == nil || f.Zones() == nil {
		return nil, fmt.Errorf("the change edits zones of farm %d, which no revision before it has", f.ID)
	}
	zones, old := slices.Clone(zonesOf(f)), zonesOf(before)
	for i := range edits {
		e := &edits[i]
		if e.zone >= len(zones) || e.base >= len(old) {
			return nil, fmt.Errorf("farm %d: %w", f.ID, errEdit)
		}
		records, err := e.applyTo(old[e.base].Unpacked(), inPlace)
		if err != nil {
			return nil, fmt.Errorf("farm %d: %w", f.ID, err)
		}
		if len(records) == 0 {
			records = nil // as in every other zone without records
		}
		zones[e.zone].SetRecords(records)
	}
	out := f.WithZones(zones)
	return &out, nil
}
