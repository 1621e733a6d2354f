package nft_test

import (
	"fmt"
	"testing"

	"github.com/sluicelb/sluice/sysnet/nft"
	"github.com/sluicelb/sluice/sysnet/sysnettest"
)

// When many elements change at once, some exist and some do not, because packets add them
// and they expire. Afterwards each has the requested value.
func TestManyElementsAreChangedDespiteConflicts(t *testing.T) {
	if !sysnettest.Inside(t) {
		return
	}
	run := runner(t)
	id := nft.ID{Table: nft.Table{Family: "inet", Name: "sluice"}, Name: "m"}
	set := &nft.Set{Type: "ipv4_addr", Data: "mark", Learned: true, Options: "flags dynamic,timeout; size 65536; "}
	b := nft.Load(nil, &nft.Ruleset{Sets: map[nft.ID]*nft.Set{id: set}}, nil)
	if err := run.Apply(t.Context(), b); err != nil {
		t.Fatal(err)
	}
	const n = 6000
	key := func(i int) string { return fmt.Sprintf("10.0.%d.%d", i/250, i%250) }
	half, all := map[string]nft.Element{}, map[string]nft.Element{}
	for i := range n {
		all[key(i)] = nft.Element{State: "timeout 600s", Value: "0x5c000002"}
		if i%2 == 0 {
			half[key(i)] = nft.Element{State: "timeout 600s", Value: "0x5c000001"}
		}
	}
	values := func() map[string]int {
		t.Helper()
		list, err := run.Elements(t.Context(), id, set)
		if err != nil {
			t.Fatal(err)
		}
		out := map[string]int{}
		for _, e := range list {
			out[e.Value]++
		}
		return out
	}
	if err := run.Put(t.Context(), id, set, half); err != nil {
		t.Fatal(err)
	}
	if err := run.Put(t.Context(), id, set, all); err != nil {
		t.Error(err)
	}
	if got := values(); got["0x5c000002"] != n || len(got) != 1 {
		t.Errorf("after replacing: %v", got)
	}
	keys := []string{"192.0.2.1", "192.0.2.2", "192.0.2.3"} // do not exist
	for i := range n - 1000 {
		keys = append(keys, key(i))
	}
	if was, err := run.Remove(t.Context(), id, set, keys...); err != nil || !was {
		t.Error(was, err)
	}
	if got := values(); got["0x5c000002"] != 1000 {
		t.Errorf("after removing: %v", got)
	}
	if was, err := run.Remove(t.Context(), id, set, keys...); err != nil || was {
		t.Errorf("removing a missing element: %v, %v", was, err)
	}
}
