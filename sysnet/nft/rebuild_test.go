package nft

import (
	"strings"
	"testing"
)

func TestRebuildKeepsOnlyLearnedElements(t *testing.T) {
	table := Table{"inet", "sluice"}
	id := func(name string) ID { return ID{table, name} }
	learned := &Set{Type: "ipv4_addr . inet_service", Data: "mark", Learned: true, Options: "flags dynamic,timeout; size 10; "}
	other := &Set{Type: "ipv4_addr", Data: "mark", Learned: true, Options: "flags dynamic,timeout; size 20; "}
	want := &Ruleset{
		Sets:   map[ID]*Set{id("session1"): learned, id("session2"): other, id("ports4"): {Type: "inet_service", Data: "verdict"}},
		Chains: map[ID]*Chain{id("farm1"): {Rules: []string{"accept"}}},
	}
	p := &Present{sets: map[ID]shape{}}
	listing := `{"nftables":[{"chain":{IN,"name":"farm1"}},{"chain":{IN,"name":"odd"}},{"ct helper":{IN,"name":"ftp_tcp"}},
		{"map":{IN,"name":"session1","type":["ipv4_addr","inet_service"],"map":"mark","size":10}},
		{"map":{IN,"name":"session2","type":"ipv4_addr","map":"mark","size":10}},
		{"chain":{"family":"inet","table":"foreign","name":"theirs"}},{"set":{"family":"ip","table":"sluice","name":"theirs","type":"mark"}},
		{"map":{IN,"name":"ports4","type":"inet_service","map":"verdict"}},{"set":{IN,"name":"stray","type":"mark"}}]}`
	listing = strings.ReplaceAll(listing, "IN", `"family":"inet","table":"sluice"`)
	if err := p.read(table, []byte(listing)); err != nil {
		t.Fatal(err)
	}
	p.tables = append(p.tables, table, Table{"netdev", "sluice"})
	text := Rebuild(p, want, nil).Text()
	for _, line := range []string{"flush chain inet sluice odd", "delete chain inet sluice odd", "delete chain inet sluice farm1", "delete ct helper inet sluice ftp_tcp",
		"delete map inet sluice session2", "delete map inet sluice ports4", "delete set inet sluice stray", "delete table netdev sluice",
		"add map inet sluice session2 {", "add chain inet sluice farm1", "add rule inet sluice farm1 accept"} {
		if !strings.Contains(text, line) {
			t.Errorf("%q is missing in\n%s", line, text)
		}
	}
	if strings.Contains(text, "session1") || strings.Contains(text, "theirs") || strings.Contains(text, "table inet sluice") {
		t.Errorf("sets to keep, or objects of others, are changed:\n%s", text)
	}
	if err := p.read(table, []byte("[]")); err == nil {
		t.Error("nonsense was read")
	}
}
