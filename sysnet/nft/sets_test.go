package nft_test

import (
	"encoding/binary"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sluicelb/sluice/sysnet/nft"
	"github.com/sluicelb/sluice/sysnet/sysnettest"
)

// Elements of learned sets are listed, changed and carried over individually.
func TestLearnedSetsAreEditedPerElement(t *testing.T) {
	if !sysnettest.Inside(t) {
		return
	}
	run, ctx := runner(t), t.Context()
	table, foreign := nft.Table{Family: "inet", Name: "sluice"}, nft.Table{Family: "inet", Name: "foreign"}
	id := func(name string) nft.ID { return nft.ID{Table: table, Name: name} }
	learned := &nft.Set{Type: "ipv4_addr", Data: "mark", Learned: true, Options: "flags dynamic,timeout; size 100; ", Elements: map[string]nft.Element{}}
	held := &nft.Set{Type: "mark", Learned: true, Options: "flags timeout; ", Elements: map[string]nft.Element{}}
	counts := &nft.Set{Type: "ipv4_addr", Options: "counter; ", Elements: map[string]nft.Element{"10.0.0.1": {State: "counter packets 5 bytes 700"}}}
	plain := &nft.Set{Type: "ipv4_addr . inet_service", Data: "mark", Elements: map[string]nft.Element{"10.0.0.1 . 80": {Value: "0x5c000007"}}}
	want := &nft.Ruleset{
		Sets:   map[nft.ID]*nft.Set{id("learned"): learned, id("held"): held, id("counts"): counts, id("plain"): plain},
		Chains: map[nft.ID]*nft.Chain{id("farm1"): {Rules: []string{"tcp dport 80 accept"}}},
	}
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(run.Check(ctx))
	if tables, err := run.Tables(ctx); err != nil || len(tables) != 0 || run.Applied() != 1 {
		t.Errorf("trying left %v, %d changes, %v", tables, run.Applied(), err)
	}
	load := nft.Load(nil, want, nil)
	must(run.Try(ctx, load))
	if tables, err := run.Tables(ctx); err != nil || len(tables) != 0 || run.Applied() != 1 {
		t.Errorf("a trial made %v, %d changes, %v", tables, run.Applied(), err)
	}
	must(run.Apply(ctx, load))
	must(run.Apply(ctx, &nft.Batch{}))
	must(run.Try(ctx, &nft.Batch{}))
	if tables, err := run.Tables(ctx); err != nil || !maps.Equal(tables, map[nft.Table]bool{table: true}) || run.Applied() != 2 {
		t.Errorf("loading made %v, %d changes, %v", tables, run.Applied(), err)
	}
	if n, err := run.Contents(ctx, table); err != nil || n["set"] != 2 || n["map"] != 2 || n["chain"] != 1 || n["rule"] != 1 {
		t.Errorf("contents: %v, %v", n, err)
	}
	sysnettest.Run(t, "table inet foreign { set counts { type ipv4_addr; }\nmap learned { type ipv4_addr : mark; }\n}", "nft", "-f", "-")

	value := func(key string) string {
		t.Helper()
		e, ok, err := run.Find(ctx, id("learned"), learned, key)
		must(err)
		if ok && (e.Key != key || e.Timeout != 600 || e.Expires > 600 || e.Expires < 400) {
			t.Errorf("%s is %+v", key, e)
		}
		return e.Value
	}
	for last := range byte(2) { // new at first, then with another value
		mark := nft.Mark(0x5c000001 + uint32(last))
		must(run.Put(ctx, id("learned"), learned, map[string]nft.Element{"10.0.0.1": {State: "timeout 600s", Value: mark}}))
		if got := value("10.0.0.1"); got != mark {
			t.Errorf("the value of 10.0.0.1 is %q, want %s", got, mark)
		}
		key := []byte{10, 0, 0, 1}
		if got, ok, err := nft.Lookup(id("learned"), key); err != nil || !ok || !slices.Equal(got, binary.NativeEndian.AppendUint32(nil, 0x5c000001+uint32(last))) {
			t.Errorf("looked up: %x, %v, %v", got, ok, err)
		}
	}
	for _, missing := range []nft.ID{id("learned"), id("nothing"), {Table: nft.Table{Family: "inet", Name: "none"}, Name: "x"}} {
		if got, ok, err := nft.Lookup(missing, []byte{10, 0, 0, 9}); ok || err != nil {
			t.Errorf("%s: Lookup of a missing element: %x, %v", missing, got, err)
		}
		if e, ok, err := run.Find(ctx, missing, learned, "10.0.0.9"); ok || err != nil {
			t.Errorf("%s: Find of a missing element: %+v, %v", missing, e, err)
		}
	}
	if _, ok, err := nft.Lookup(id("learned"), []byte{10}); ok || err == nil {
		t.Errorf("a key of another length: %v, %v", ok, err)
	}
	if _, ok, err := run.Find(ctx, id("learned"), learned, "no key"); ok || err == nil {
		t.Errorf("an invalid key: %v, %v", ok, err)
	}
	must(run.Put(ctx, id("learned"), learned, map[string]nft.Element{
		"10.0.0.1": {State: "timeout 600s", Value: "0x5c000003"}, "10.0.0.2": {State: "timeout 600s", Value: "0x5c000004"}}))
	if one, two := value("10.0.0.1"), value("10.0.0.2"); one != "0x5c000003" || two != "0x5c000004" {
		t.Errorf("put together: %s and %s", one, two)
	}

	carried := func(stay map[nft.ID]bool, want nft.Carried, wanted *nft.Ruleset) {
		t.Helper()
		got, err := run.Carried(ctx, []nft.Table{table}, wanted, stay)
		for _, list := range got {
			for key, e := range list {
				if before, _, is := strings.Cut(e.State, " expires "); is {
					e.State = before
					list[key] = e
				}
			}
		}
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("carried: %v, %v; want %v", got, err, want)
		}
	}
	remembered := map[string]nft.Element{"10.0.0.1": {State: "timeout 600s", Value: "0x5c000003"}, "10.0.0.2": {State: "timeout 600s", Value: "0x5c000004"}}
	counted := map[string]nft.Element{"10.0.0.1": {State: "counter packets 5 bytes 700"}}
	carried(nil, nft.Carried{id("learned"): remembered, id("held"): {}, id("counts"): counted}, want)
	carried(map[nft.ID]bool{id("learned"): true}, nft.Carried{id("held"): {}, id("counts"): counted}, want)
	turned := *learned
	turned.Data = "" // a set that used to be a map carries nothing over
	carried(nil, nft.Carried{id("learned"): {}}, &nft.Ruleset{Sets: map[nft.ID]*nft.Set{id("learned"): &turned, id("new"): learned}})

	for i, want := range []bool{true, false} {
		if was, err := run.Remove(ctx, id("learned"), learned, "10.0.0.1"); was != want || err != nil {
			t.Errorf("removed, time %d: got %v, %v, want %v", i, was, err, want)
		}
	}
	if was, err := run.Remove(ctx, id("learned"), learned); was || err != nil {
		t.Errorf("removing no keys: %v, %v", was, err)
	}
	if was, err := run.Remove(ctx, id("learned"), learned, "no key", "nor this"); was || err == nil {
		t.Errorf("removing invalid keys: %v, %v", was, err)
	}
	if err := run.Put(ctx, id("nothing"), learned, remembered); !nft.IsMissing(err) {
		t.Errorf("Put into a missing set: %v", err)
	}
	hold := func(keys ...string) {
		t.Helper()
		set := map[string]bool{}
		for _, key := range keys {
			set[key] = true
		}
		must(run.Hold(ctx, id("held"), held, set, 90*time.Second))
		list, err := run.Elements(ctx, id("held"), held)
		must(err)
		var got []string
		for _, e := range list {
			got = append(got, e.Key)
			if e.Timeout != 90 {
				t.Errorf("held: %+v", e)
			}
		}
		if slices.Sort(got); !slices.Equal(got, keys) {
			t.Errorf("held are %v, want %v", got, keys)
		}
	}
	before := run.Applied()
	hold()
	if run.Applied() != before {
		t.Error("an empty difference changes the ruleset")
	}
	hold("0x5c000001", "0x5c000002")
	hold("0x5c000002", "0x5c000003")
	hold()
	must(run.Hold(ctx, id("nothing"), held, map[string]bool{"0x5c000001": true}, time.Minute))
	must(run.Renew(ctx, id("held"), held, nil, []string{"0x5c000001", "0x5c000002"}, 90*time.Second))
	must(run.Renew(ctx, id("held"), held, []string{"0x5c000001"}, []string{"0x5c000003"}, 60*time.Second))
	must(run.Renew(ctx, id("held"), held, []string{"0x5c000009"}, nil, time.Second)) // no longer exists
	must(run.Renew(ctx, id("nothing"), held, nil, []string{"0x5c000001"}, time.Second))
	left, err := nft.Expiries(id("held"))
	must(err)
	if two, three := left[0x5c000002], left[0x5c000003]; len(left) != 2 || two > 90*time.Second || three > 60*time.Second || two-three < 29*time.Second {
		t.Errorf("left: %v", left)
	}
	if left, err := nft.Expiries(id("nothing")); err != nil || left != nil {
		t.Errorf("of a set that is not there: %v, %v", left, err)
	}
	must(run.Empty(ctx, id("learned"), learned))
	must(run.Empty(ctx, id("nothing"), learned))
	if n, err := nft.CountElements(id("learned")); err != nil || n != 0 {
		t.Errorf("emptied, it has %d elements, %v, want 0", n, err)
	}
	if text, err := run.Chain(ctx, id("farm1")); err != nil || !strings.Contains(text, "tcp dport 80 accept") {
		t.Errorf("chain: %q, %v", text, err)
	}
	if text, err := run.Chain(ctx, id("farm2")); err != nil || text != "" {
		t.Errorf("a chain that is not there: got %q, %v, want \"\"", text, err)
	}
	own, err := run.Own(ctx, []nft.Table{table})
	must(err)
	var names []string
	for _, one := range own {
		names = append(names, one.String())
	}
	if slices.Sort(names); !slices.Equal(names, []string{"inet sluice counts", "inet sluice held", "inet sluice learned", "inet sluice plain"}) {
		t.Errorf("ours are %q", names)
	}
	present, err := run.Present(ctx, []nft.Table{table, {Family: "netdev", Name: "sluice"}})
	must(err)
	if stay := present.Stay(want); !maps.Equal(stay, map[nft.ID]bool{id("learned"): true, id("held"): false, id("counts"): false, id("plain"): false}) {
		t.Errorf("Stay returns %v", stay)
	}
	must(run.Apply(ctx, nft.Rebuild(present, &nft.Ruleset{}, nil)))
	if tables, err := run.Tables(ctx); err != nil || !maps.Equal(tables, map[nft.Table]bool{foreign: true}) {
		t.Errorf("at the end: %v, %v", tables, err)
	}
}

func TestProgramFailuresAreReturned(t *testing.T) {
	run, ctx := nft.At("/nowhere/nft"), t.Context()
	id, set := nft.ID{Table: nft.Table{Family: "inet", Name: "sluice"}, Name: "x"}, &nft.Set{Type: "mark", Learned: true}
	want := &nft.Ruleset{Sets: map[nft.ID]*nft.Set{id: set}}
	one, two := map[string]nft.Element{"1": {}}, map[string]nft.Element{"1": {}, "2": {}}
	for name, f := range map[string]func() error{
		"Check":    func() error { return run.Check(ctx) },
		"Apply":    func() error { return run.Apply(ctx, nft.Load(nil, want, nil)) },
		"Try":      func() error { return run.Try(ctx, nft.Load(nil, want, nil)) },
		"Tables":   func() error { _, err := run.Tables(ctx); return err },
		"Contents": func() error { _, err := run.Contents(ctx, id.Table); return err },
		"Elements": func() error { _, err := run.Elements(ctx, id, set); return err },
		"Find":     func() error { _, _, err := run.Find(ctx, id, set, "1"); return err },
		"Own":      func() error { _, err := run.Own(ctx, []nft.Table{id.Table}); return err },
		"Carried":  func() error { _, err := run.Carried(ctx, []nft.Table{id.Table}, want, nil); return err },
		"Present":  func() error { _, err := run.Present(ctx, []nft.Table{id.Table}); return err },
		"Put one":  func() error { return run.Put(ctx, id, set, one) },
		"Put":      func() error { return run.Put(ctx, id, set, two) },
		"Remove":   func() error { _, err := run.Remove(ctx, id, set, "1"); return err },
		"Hold":     func() error { return run.Hold(ctx, id, set, map[string]bool{"1": true}, time.Second) },
		"Renew":    func() error { return run.Renew(ctx, id, set, nil, []string{"1"}, time.Second) },
		"Empty":    func() error { return run.Empty(ctx, id, set) },
		"Chain":    func() error { _, err := run.Chain(ctx, id); return err },
	} {
		if err := f(); err == nil || !strings.Contains(err.Error(), "/nowhere/nft") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if run.Applied() != 0 {
		t.Errorf("%d changes", run.Applied())
	}
}
