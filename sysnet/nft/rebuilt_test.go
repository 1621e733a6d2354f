package nft_test

import (
	"regexp"
	"strings"
	"testing"

	"github.com/sluicelb/sluice/sysnet/housetest"
	"github.com/sluicelb/sluice/sysnet/nft"
)

// expiry matches the time left of an element.
var expiry = regexp.MustCompile(` expires \w+`)

// Own tables may have objects of each kind. Those of other tables remain.
func TestARebuildRemovesAllKindsOfObjects(t *testing.T) {
	run, err := nft.Find()
	if err != nil {
		t.Skip(err)
	}
	n := housetest.New(t).Namespace("own")
	objects := ` {
	set numbers { type mark; elements = { 1 } }
	map verdicts { type mark : verdict; elements = { 1 : jump target } }
	map learned { type ipv4_addr : mark; flags dynamic,timeout; size 10; elements = { 10.0.0.1 timeout 1h : 5 } }
	chain target { meta mark { 1, 2 } accept; }
	chain start { meta mark vmap @verdicts; goto target; }
	HELPER
}
`
	helper := `ct helper ftp { type "ftp" protocol tcp; l3proto ip; }`
	text := ""
	for _, table := range []string{"inet own", "inet other", "ip own", "netdev own"} {
		has := ""
		if strings.HasPrefix(table, "inet") {
			has = helper
		}
		text += "table " + table + strings.ReplaceAll(objects, "HELPER", has)
	}
	n.Feed(text, "nft", "-f", "-")
	list := func(table string) string {
		text := n.Run("nft", append([]string{"list", "table"}, strings.Fields(table)...)...)
		return expiry.ReplaceAllString(text, "")
	}
	others := list("inet other") + list("ip own")
	inet := nft.Table{Family: "inet", Name: "own"}
	own := []nft.Table{inet, {Family: "netdev", Name: "own"}, {Family: "inet", Name: "absent"}}
	want := &nft.Ruleset{Chains: map[nft.ID]*nft.Chain{{Table: inet, Name: "start"}: {Rules: []string{"accept"}}}}
	want.SetOf(nft.ID{Table: inet, Name: "learned"}, func() *nft.Set {
		return &nft.Set{Type: "ipv4_addr", Data: "mark", Learned: true, Options: "flags dynamic,timeout; size 10; "}
	})
	n.Do(func() {
		var there *nft.Present
		if there, err = run.Present(t.Context(), own); err == nil {
			err = run.Apply(t.Context(), nft.Rebuild(there, want, nil))
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	got := list("inet own")
	for _, gone := range []string{"numbers", "verdicts", "target", "ftp"} {
		if strings.Contains(got, gone) {
			t.Errorf("%s remains", gone)
		}
	}
	if !strings.Contains(got, "10.0.0.1") || !strings.Contains(got, "accept") || list("inet other")+list("ip own") != others {
		t.Errorf("after the rebuild:\n%s", n.Run("nft", "list", "ruleset"))
	}
	if tables := n.Run("nft", "list", "tables"); strings.Contains(tables, "netdev") {
		t.Errorf("tables: %s", tables)
	}
}
