package document_test

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/mgmt/document"
)

// tree formats a configuration as nested name=ID.
func tree(c *farm.Config) string {
	out := ""
	for _, f := range c.Farms {
		out += fmt.Sprintf("%s=%d(", f.Name, f.ID)
		for _, s := range f.HTTP.Services {
			out += fmt.Sprintf("%s=%d[", s.Name, s.ID)
			for _, b := range s.Backends {
				out += fmt.Sprintf("%s:%d=%d ", b.Host, b.Port, b.ID)
			}
			out += "]"
		}
		out += ")"
	}
	return out
}

func old() *farm.Config {
	return &farm.Config{Farms: []farm.Farm{
		{ID: 1, Name: "a", HTTP: &farm.HTTP{Services: []farm.Service{{ID: 11, Name: "s", Backends: []farm.Backend{
			{ID: 101, Host: "db.example", Addr: netip.MustParseAddr("10.0.0.1"), Port: 80}, {ID: 102, Host: "h", Port: 81}}}}}},
		{ID: 2, Name: "b", HTTP: &farm.HTTP{Services: []farm.Service{{ID: 12, Name: "s"}}}},
	}}
}

func TestIDsFollowTheNames(t *testing.T) {
	next := old()
	next.Farms[0], next.Farms[1] = next.Farms[1], next.Farms[0]
	next.Farms = append(next.Farms, farm.Farm{Name: "c", HTTP: &farm.HTTP{Services: []farm.Service{{Name: "s"}}}})
	b := &next.Farms[1].HTTP.Services[0].Backends
	*b = append([]farm.Backend{{Host: "new", Port: 80}, {Host: "DB.example", Port: 80}}, (*b)[1])
	for i := range next.Farms {
		document.StripIDs(&next.Farms[i])
	}
	document.Carry(old(), next)
	if got, want := tree(next), "b=2(s=12[])a=1(s=11[new:80=0 DB.example:80=101 h:81=102 ])c=0(s=0[])"; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func TestARenamedObjectKeepsItsIDUnlessTheNameIsTaken(t *testing.T) {
	next := old()
	next.Farms[0].Name = "renamed"
	next.Farms[0].HTTP.Services[0].Backends[1].Port = 99
	document.Carry(old(), next)
	if got, want := tree(next), "renamed=1(s=11[db.example:80=101 h:99=102 ])b=2(s=12[])"; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	next = old()
	next.Farms[0].Name, next.Farms[1].Name = "b", "c" // the old name of 2
	document.Carry(old(), next)
	if next.Farms[0].ID != 2 || next.Farms[1].ID != 0 {
		t.Errorf("got %s", tree(next))
	}
}

func TestIDsOfAnotherTimeAreDropped(t *testing.T) {
	next := old()
	next.Farms[0].ID, next.Farms[0].Name = 77, "x"
	document.Carry(old(), next)
	if next.Farms[0].ID != 0 || next.Farms[0].HTTP.Services[0].ID != 0 {
		t.Errorf("got %s", tree(next))
	}
}

func TestCarryKeepsKnownAddresses(t *testing.T) {
	next := old()
	b := next.Farms[0].HTTP.Services[0].Backends
	b[0].Addr, b[1].Host = netip.Addr{}, "10.0.0.9"
	document.Carry(old(), next)
	if b[0].Addr != netip.MustParseAddr("10.0.0.1") || b[1].Addr != netip.MustParseAddr("10.0.0.9") {
		t.Errorf("%+v", b)
	}
}

// Backends created for the addresses of a name are in no document and are recreated.
func TestPartsAreOmittedFromDocuments(t *testing.T) {
	const text = "farms: [{name: a, profile: http, vip: 127.0.0.1, vport: 80, services: [{name: s, backends: [{ip: db.example, port: 80, resolve: all}]}]}]"
	cfg, err := document.Decode([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	full := cfg.Clone()
	backends := &full.Farms[0].HTTP.Services[0].Backends
	(*backends)[0].ID = 7
	part := (*backends)[0]
	part.ID, part.Of, part.Resolve, part.Addr = 8, 7, farm.ResolveFirst, netip.MustParseAddr("10.0.0.1")
	*backends = append(*backends, part)
	if !document.Equal(cfg, full) {
		t.Error("parts are written")
	}
	next := full.Clone()
	document.Carry(full, next)
	if got, want := tree(next), "a=0(s=0[db.example:80=7 ])"; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

// Every YAML library reads the written texts in the same way.
func TestTextsAreQuotedOnlyIfNeeded(t *testing.T) {
	cfg, err := document.Decode([]byte(small))
	if err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]string{
		"plain/text:80%":   "plain/text:80%",
		"/path":            "/path",
		"two words":        `"two words"`,
		"Yes":              `"Yes"`,
		"10.0.0.1":         "10.0.0.1",
		"10.0":             `"10.0"`,
		"::1":              `"::1"`,
		"a\nb":             "|-\n      a\n      b",
		"a\nb\n":           "|\n      a\n      b",
		"a\n":              `"a\n"`,
		"a\n\nb":           `"a\n\nb"`,
		"a\nb\n\n":         `"a\nb\n\n"`,
		" a\nb":            `" a\nb"`,
		"a\nb ":            `"a\nb "`,
		"a\nb\tc":          `"a\nb\tc"`,
		"\"\\\r\x01\u00e9": `"\"\\\r\x01\u00e9"`,
		"\u0085\u00ff":     `"\x85\u00ff"`,
		"\u2028\U000e0001": `"\u2028\U000e0001"`,
	} {
		want := strings.NewReplacer(`\u00e9`, "\u00e9", `\u00ff`, "\u00ff").Replace(want)
		cfg.Farms[0].HTTP.Error503 = text
		out, err := document.Encode(cfg)
		if err != nil || !strings.Contains(string(out), "    error503: "+want+"\n") {
			t.Errorf("%q: %v, want %s in\n%s", text, err, want, out)
		}
		if back, err := document.Decode(out); err != nil || back.Farms[0].HTTP.Error503 != text {
			t.Errorf("%q is not decoded: %v", text, err)
		}
	}
}

func TestADifferenceShowsFarmAndSurroundings(t *testing.T) {
	a, err := document.Decode([]byte(small))
	if err != nil {
		t.Fatal(err)
	}
	b := a.Clone()
	b.Farms[0].HTTP.Services[0].Backends[0].Weight = 3
	want := `@@ -13,7 +13,7 @@ farm shop
         backends:
           - ip: 127.0.0.1
             port: 8081
-            weight: 2
+            weight: 3
           - ip: db.example
             port: 8082
             maintenance: drain
`
	if got := document.Diff(a, b); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if document.Diff(a, a.Clone()) != "" || !document.Equal(a, a.Clone()) || document.Equal(a, b) {
		t.Error("Equal and Diff disagree")
	}
}
