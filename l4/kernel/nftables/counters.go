package nftables

import (
	"context"
	"encoding/binary"
	"errors"
	"strconv"
	"strings"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/l4/kernel/rules"
	"github.com/sluicelb/sluice/sysnet/claim"
	"github.com/sluicelb/sluice/sysnet/conntrack"
	"github.com/sluicelb/sluice/sysnet/ctl"
	"github.com/sluicelb/sluice/sysnet/nft"
)

// Counters are elements of sets and are deleted with the rules of a stopped farm. Statistics
// count since the farm was made. So the values of a stopped farm are kept here and added to
// the counters when it runs again.

// parting reads the counters of backends whose farms are stopped now. Counters that cannot
// be read are lost; the change is made anyway.
func (n *Filter) parting(in *rules.Input) map[uint32]ctl.KernelCount {
	n.mu.Lock()
	applied := n.applied
	n.mu.Unlock()
	out := map[uint32]ctl.KernelCount{}
	for i := range in.Farms {
		f := &in.Farms[i]
		if !f.Stopped {
			continue
		}
		for j := range f.L4.Backends {
			if id := f.L4.Backends[j].ID; countsFor(applied, f.ID, id) {
				out[id] = ctl.KernelCount{}
			}
		}
	}
	if len(out) == 0 {
		return nil
	}
	counted, err := n.counted(applied)
	if err != nil {
		n.log.Debug("counters of stopped farms are lost", "error", err)
		return nil
	}
	for id := range out {
		out[id] = counted[id]
	}
	return out
}

// keep adds these counters to past, unless the counting rules still exist, and removes
// deleted backends.
func (n *Filter) keep(in *rules.Input, parting map[uint32]ctl.KernelCount) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if len(n.past) == 0 && len(parting) == 0 {
		return
	}
	past := map[uint32]ctl.KernelCount{}
	for i := range in.Farms {
		for j := range in.Farms[i].L4.Backends {
			id := in.Farms[i].L4.Backends[j].ID
			count, known := n.past[id]
			if gone, is := parting[id]; is && !countsFor(n.applied, in.Farms[i].ID, id) {
				count.Add(gone)
				known = true
			}
			if known {
				past[id] = count
			}
		}
	}
	n.past = past
}

// countsFor reports whether rules count for the backend of a farm.
func countsFor(applied *nft.Parts, farm, id uint32) bool {
	if applied == nil {
		return false
	}
	r := applied.Part(farm)
	if r == nil {
		return false
	}
	for _, c := range counters {
		if set := r.Sets[nft.ID{Table: c.table(), Name: c.set}]; set != nil {
			if _, there := set.Elements[rules.MarkText(id)+c.suffix]; there {
				return true
			}
		}
	}
	return false
}

// Counters returns the counters by backend.
func (n *Filter) Counters(context.Context) (map[uint32]ctl.KernelCount, error) {
	n.mu.Lock()
	applied, past := n.applied, n.past
	n.mu.Unlock()
	out, err := n.counted(applied)
	if err != nil {
		return nil, err
	}
	for id, before := range past { // immutable once set
		before.Add(out[id])
		out[id] = before
	}
	return out, nil
}

// Directions of connections as the kernel stores them, IP_CT_DIR_* of linux/nf_conntrack_tuple_common.h.
const (
	original = 0
	reply    = 1
)

// counters describes the counting sets. The part of the key after the mark is suffix in the
// syntax of nft, and way in the format of the kernel (-1 for none).
var counters = []struct {
	table       func() nft.Table
	set, suffix string
	way         int
	add         func(c *ctl.KernelCount, packets, bytes uint64)
}{
	{rules.Inet, "opened", "", -1, func(c *ctl.KernelCount, p, _ uint64) { c.Connections += p }},
	{rules.Inet, "traffic", " . original", original, (*ctl.KernelCount).CountIn},
	{rules.Inet, "traffic", " . reply", reply, (*ctl.KernelCount).CountOut},
	{rules.Netdev, "opened", "", -1, func(c *ctl.KernelCount, p, _ uint64) { c.Connections += p }},
	{rules.Netdev, "forth", "", -1, (*ctl.KernelCount).CountIn},
	{rules.Netdev, "back", "", -1, (*ctl.KernelCount).CountOut},
}

// counted reads the counters of the rules in force.
func (n *Filter) counted(applied *nft.Parts) (map[uint32]ctl.KernelCount, error) {
	out := map[uint32]ctl.KernelCount{}
	if applied == nil {
		return nil, errors.New("it is not known what the kernel has: the last change failed")
	}
	read := map[nft.ID]map[string]nft.Count{}
	for _, count := range counters {
		id := nft.ID{Table: count.table(), Name: count.set}
		if !applied.Has(id) {
			continue
		}
		values, there := read[id]
		if !there {
			var err error
			if values, err = nft.Counts(id); err != nil {
				return nil, err
			}
			read[id] = values
		}
		for key, v := range values {
			mark, way := counterKey(key)
			if backend, ok := conntrack.BackendOf(mark); ok && way == count.way {
				c := out[backend]
				count.add(&c, v.Packets, v.Bytes)
				out[backend] = c
			}
		}
	}
	return out, nil
}

// counterKey parses a key of a counting set: a mark, followed by a direction if the set has
// one, else way is -1.
func counterKey(key string) (mark uint32, way int) {
	if len(key) < 4 {
		return 0, -1
	}
	way = -1
	if len(key) > 4 {
		way = int(key[4])
	}
	return binary.NativeEndian.Uint32([]byte(key)), way
}

// backendOf returns the backend of a mark in text form.
func backendOf(text string) (uint32, bool) {
	mark, err := strconv.ParseUint(strings.TrimPrefix(text, "0x"), 16, 32)
	id := uint32(mark) &^ claim.OwnMask
	return id, err == nil && uint32(mark)&claim.OwnMask == claim.Own().Mark() && id <= farm.MaxBackendID
}
