package validate

import (
	"strconv"

	"github.com/sluicelb/sluice/core/farm"
)

// Kinds of objects that a change can delete.
const (
	DeletedFarm    = "farm"
	DeletedService = "service"
	DeletedBackend = "backend"
	DeletedZone    = "zone"
	DeletedRecords = "records"
	DeletedCheck   = "check"
	DeletedAlias   = "alias"
)

// Deletion is an object that the next configuration lacks. Its parts have no Deletions of
// their own.
type Deletion struct {
	Kind string
	Name string // e.g. "shop", "web of farm shop", "10.0.0.1:80 of service web of farm shop"
	// Farm is the deleted farm or the farm of the object; nil for checks and aliases.
	Farm *farm.Farm
	// Backends lists the stable IDs of the service's backends, or of the one backend.
	Backends []uint32
}

// Deletions lists the objects that a change deletes. Objects are identified by stable ID,
// so renaming deletes nothing.
func Deletions(from, to *farm.Config) []Deletion {
	var out []Deletion
	next := make(map[uint32]*farm.Farm, len(to.Farms))
	for i := range to.Farms {
		next[to.Farms[i].ID] = &to.Farms[i]
	}
	for i := range from.Farms {
		f := &from.Farms[i]
		if is := next[f.ID]; is != nil {
			out = append(out, deletedParts(f, is)...)
		} else {
			out = append(out, Deletion{Kind: DeletedFarm, Name: f.Name, Farm: f})
		}
	}
	return append(out, deletedElsewhere(from, to)...)
}

// deletedParts returns the deletions within a remaining farm.
func deletedParts(old, next *farm.Farm) (out []Deletion) {
	groups := map[uint32]farm.Group{}
	for _, g := range next.Groups() {
		groups[g.ID()] = g
	}
	for _, g := range old.Groups() {
		is, stays := groups[g.ID()]
		switch {
		case stays:
			out = append(out, deletedBackends(g, is)...)
		case g.OfService():
			out = append(out, Deletion{Kind: DeletedService, Name: g.Name() + " of farm " + old.Name, Farm: old, Backends: numbersOf(g)})
		}
	}
	return append(out, deletedZones(old, next)...)
}

func deletedBackends(old, next farm.Group) (out []Deletion) {
	stays := map[uint32]bool{}
	for _, b := range next.Backends() {
		stays[b.ID] = true
	}
	for _, b := range old.Backends() {
		if b.Of == 0 && !stays[b.ID] { // the others are addresses of a configured one
			out = append(out, Deletion{Kind: DeletedBackend, Name: b.ShownAddress() + portOf(&b) + " of " + old.String(), Farm: old.Farm, Backends: []uint32{b.ID}})
		}
	}
	return out
}

func numbersOf(g farm.Group) (out []uint32) {
	for _, b := range g.Backends() {
		out = append(out, b.ID)
	}
	return out
}

func deletedZones(old, next *farm.Farm) (out []Deletion) {
	was, is := old.Zones(), next.Zones()
	if was == nil || is == nil {
		return nil
	}
	zones := map[string]*farm.Zone{}
	for i := range is.Zones {
		zones[is.Zones[i].Name] = &is.Zones[i]
	}
	for i := range was.Zones {
		z := &was.Zones[i]
		of := z.Name + " of farm " + old.Name
		stays := zones[z.Name]
		if stays == nil {
			out = append(out, Deletion{Kind: DeletedZone, Name: of, Farm: old})
			continue
		}
		if n := deletedRecords(z, stays); n > 0 {
			out = append(out, Deletion{Kind: DeletedRecords, Name: strconv.Itoa(n) + " of zone " + of, Farm: old})
		}
	}
	return out
}

// deletedRecords counts the record sets (name and type) that lose records. A record
// replaced by another one counts as a change.
func deletedRecords(old, next *farm.Zone) (n int) {
	type set struct {
		name string
		kind farm.RecordType
	}
	left := map[set]int{} // new records of each set less those that are gone
	i, j := 0, 0
	for _, run := range append(farm.AlignZones(old, next), farm.RecordRun{Old: old.Len(), New: next.Len()}) {
		for _, r := range next.Slice(j, run.New) {
			left[set{r.Name, r.Type}]++
		}
		for _, r := range old.Slice(i, run.Old) {
			left[set{r.Name, r.Type}]--
		}
		i, j = run.Old+run.Length, run.New+run.Length
	}
	for _, more := range left {
		n += max(0, -more)
	}
	return n
}

// deletedElsewhere returns deleted checks and aliases.
func deletedElsewhere(from, to *farm.Config) (out []Deletion) {
	for i := range from.Checks {
		if name := from.Checks[i].Name; farm.CheckAt(to.Checks, name) < 0 {
			out = append(out, Deletion{Kind: DeletedCheck, Name: name})
		}
	}
	for _, list := range []struct{ was, is []farm.Alias }{
		{from.System.Aliases.Backends, to.System.Aliases.Backends}, {from.System.Aliases.Interfaces,
			to.System.Aliases.Interfaces},
	} {
		stays := map[string]bool{}
		for _, a := range list.is {
			stays[a.ID] = true
		}
		for _, a := range list.was {
			if !stays[a.ID] {
				out = append(out, Deletion{Kind: DeletedAlias, Name: a.Alias + " of " + a.ID})
			}
		}
	}
	return out
}
