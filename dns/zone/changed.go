package zone

import (
	"slices"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/core/rdata"
)

// list is a packed run of a zone's records and the hashes of their names.
type list struct {
	run    string
	hashes []uint32
}

// maxChanged is the maximum number of changed names that Update handles.
const maxChanged = 4096

// SameZones reports whether two farms have equal zones, and equal service names in the
// same order.
func SameZones(a, b *farm.GSLB) bool {
	return sameFrame(a, b) && slices.EqualFunc(a.Zones, b.Zones, func(x, y farm.Zone) bool {
		return x.Serial == y.Serial && slices.Equal(x.Packed, y.Packed) && slices.Equal(x.Records, y.Records)
	})
}

// sameFrame is like SameZones but ignores records and serials.
func sameFrame(a, b *farm.GSLB) bool {
	return slices.EqualFunc(a.Services, b.Services, func(x, y farm.DNSService) bool { return x.Name == y.Name }) &&
		slices.EqualFunc(a.Zones, b.Zones, func(x, y farm.Zone) bool {
			return x.Name == y.Name && x.NameServer == y.NameServer && x.TTL == y.TTL && x.Signing == y.Signing && slices.Equal(x.Keys, y.Keys)
		})
}

// changedNames returns the names, in wire format, whose records differ. It reports false
// if there are more than maxChanged or one is invalid.
func changedNames(was, now *farm.Zone) (names map[string]bool, ok bool) {
	names = map[string]bool{}
	differ := func(old, list []farm.Record) bool {
		i, j := 0, 0
		for _, run := range append(farm.AlignRecords(old, list), farm.RecordRun{Old: len(old), New: len(list)}) {
			for _, some := range [...][]farm.Record{old[i:run.Old], list[j:run.New]} {
				for k := range some {
					name, err := rdata.Name(some[k].Name, now.Name)
					if err != nil || len(names) > maxChanged {
						return false
					}
					names[string(name)] = true
				}
			}
			i, j = run.Old+run.Length, run.New+run.Length
		}
		return true
	}
	if len(was.Packed) == 0 || len(now.Packed) == 0 {
		return names, differ(was.Unpacked(), now.Unpacked())
	}
	var old, list []farm.Record
	for _, h := range differences(was.Packed, now.Packed) {
		old, list = unpacked(old[:0], h.old), unpacked(list[:0], h.now)
		if !differ(old, list) {
			return nil, false
		}
	}
	return names, true
}

func unpacked(list []farm.Record, runs []string) []farm.Record {
	for _, run := range runs {
		list, _ = farm.Unpack(list, run)
	}
	return list
}

// difference is a section of two lists of runs where they differ.
type difference struct{ old, now []string }

// differences returns the sections between the runs that both lists have, in order.
// Unchanged runs share memory, so comparing them is cheap.
func differences(old, now []string) (out []difference) {
	for len(old) > 0 && len(now) > 0 && old[0] == now[0] {
		old, now = old[1:], now[1:]
	}
	for len(old) > 0 && len(now) > 0 && old[len(old)-1] == now[len(now)-1] {
		old, now = old[:len(old)-1], now[:len(now)-1]
	}
	at := make(map[string]int, len(old))
	for i := len(old) - 1; i >= 0; i-- {
		at[old[i]] = i
	}
	i, j := 0, 0 // start of the difference
	note := func(toOld, toNow int) {
		if i < toOld || j < toNow {
			out = append(out, difference{old[i:toOld], now[j:toNow]})
		}
	}
	for k, run := range now {
		if m, is := at[run]; is && m >= i {
			note(m, k)
			i, j = m+1, k+1
		}
	}
	note(len(old), len(now))
	return out
}
