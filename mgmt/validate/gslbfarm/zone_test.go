package gslbfarm_test

import (
	"encoding/base64"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/mgmt/validate"
	"github.com/sluicelb/sluice/mgmt/validate/field"
	"github.com/sluicelb/sluice/mgmt/validate/gslbfarm"
	"github.com/sluicelb/sluice/mgmt/validate/profile"
	"github.com/sluicelb/sluice/mgmt/validate/validatetest"
)

func TestGSLBFarmsKeepTheirRules(t *testing.T) {
	if err := validate.Config(validatetest.Zone(func(*farm.GSLB) {})); err != nil {
		t.Fatal(err)
	}
	for want, edit := range map[string]func(*farm.GSLB){
		"record 4: type CNAME must be alone at its name, and www":     validatetest.Record("www", "CNAME", "x"),
		"record 4: type CNAME must be alone at its name, and alias":   validatetest.Record("alias", "A", "192.0.2.1"),
		"record 4: type CNAME must be alone at its name, and Alias":   validatetest.Record("Alias", "TXT", "x"),
		"record 4: type DYNA gives all addresses of its name, and ns": validatetest.Record("ns1", "DYNA", "shop"),
		"record 4: type DYNA gives all addresses of its name, and ww": validatetest.Record("www", "AAAA", "2001:db8::1"),
		"there is no service \"gone\"":                                validatetest.Record("x", "DYNA", "gone"),
		"rdata must be an IPv4 address, as 192.0.2.1 for A":           validatetest.Record("x", "A", "2001:db8::1"),
		"rname must be @ for SOA":                                     validatetest.Record("x", "SOA", "a b 1 2 3 4 5"),
		"type CNAME is not possible for @":                            validatetest.Record("@", "CNAME", "x"),
		"type NS is not possible for the wildcard *.deep":             validatetest.Record("*.deep", "NS", "ns1"),
		"rname must be a name relative to the zone":                   validatetest.Record("a b", "A", "192.0.2.1"),
		"the zone \"example.com\" exists already":                     func(g *farm.GSLB) { g.Zones = append(g.Zones, g.Zones[0]) },
		"name must be the name of a domain":                           func(g *farm.GSLB) { g.Zones[0].Name = "a..b" },
		"a zone has a name of its own":                                func(g *farm.GSLB) { g.Zones[0].Name = "*.example.com" },
		"name must be unique in the farm, \"shop\" exists already": func(g *farm.GSLB) {
			g.Services = append(g.Services, farm.DNSService{ID: 2, Name: "shop", Algorithm: farm.DNSHash})
		},
		"ip must be unique in the service, backend 1 is 192.0.2.1": func(g *farm.GSLB) { s := &g.Services[0]; s.Backends = append(s.Backends, s.Backends[0]) },
		"backends: at most 64 are possible": func(g *farm.GSLB) {
			for i := range 64 {
				a := netip.AddrFrom4([4]byte{192, 0, 2, byte(i + 2)})
				g.Services[0].Backends = append(g.Services[0].Backends, farm.Backend{ID: uint32(i + 2), Host: a.String(), Addr: a})
			}
		},
		"it is a multicast address":       func(g *farm.GSLB) { g.Services[0].Backends[0].Host = "224.0.0.1" },
		"profile gslb needs its settings": nil,
	} {
		cfg := validatetest.Zone(func(*farm.GSLB) {})
		if edit == nil {
			cfg.Farms[0].Global = nil
		} else {
			cfg = validatetest.Zone(edit)
		}
		if err := validate.Config(cfg); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", want, err)
		}
	}
	for i, edit := range []func(*farm.GSLB){validatetest.Record("www", "TXT", "x"), validatetest.Record("ns1", "AAAA", "2001:db8::1"), validatetest.Record("@", "SOA", "a b 1 2 3 4 5"), validatetest.Record("*.x", "A", "192.0.2.1"), validatetest.Record("_sip._tcp", "SRV", "1 2 3 www")} {
		if err := validate.Config(validatetest.Zone(edit)); err != nil {
			t.Errorf("%d: %v", i, err)
		}
	}
}

// A zone has at most one active and one published key, and any number of retired ones.
func TestKeysOfAZoneHaveTheirPlaces(t *testing.T) {
	key := func(state farm.KeyState, size int) farm.ZoneKey {
		return farm.ZoneKey{Algorithm: farm.SignEd25519, State: state, Public: base64.StdEncoding.EncodeToString(make([]byte, size)), Private: "AAAA"}
	}
	of := func(states ...farm.KeyState) (keys []farm.ZoneKey) {
		for _, s := range states {
			keys = append(keys, key(s, 32))
		}
		return keys
	}
	for want, keys := range map[string][]farm.ZoneKey{
		"":                                       of(farm.KeyActive, farm.KeyPublished, farm.KeyRetired, farm.KeyRetired),
		"only one key of a zone may be active":   of(farm.KeyActive, farm.KeyRetired, farm.KeyActive),
		"only one key of a zone may be publish":  of(farm.KeyPublished, farm.KeyPublished, farm.KeyRetired),
		"public_key must be a key of ed25519 as": {key(farm.KeyActive, 33)},
		"keys: at most":                          of(slices.Repeat([]farm.KeyState{farm.KeyRetired}, gslbfarm.MaxKeys+1)...),
	} {
		cfg := validatetest.Zone(func(g *farm.GSLB) {
			g.Zones[0].Signing, g.Zones[0].Keys = farm.SignEd25519, keys
			if want != "" { // only the first error is reported
				validatetest.Record("a b", "A", "192.0.2.1")(g)
				g.Zones = append(g.Zones, farm.Zone{Name: "a..b"})
			}
		})
		if want != "" {
			cfg.Farms = append(cfg.Farms, farm.Farm{ID: 2, Name: "a b"})
		}
		err := validate.Config(cfg)
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%q: %v", want, err)
		}
	}
}

func TestNameServersNobodyFindsAreTold(t *testing.T) {
	for i, c := range []struct {
		edit func(*farm.Zone)
		says string
	}{
		{func(*farm.Zone) {}, "ns1 has no address"},
		{func(z *farm.Zone) { z.Records[1].Data = "192.0.2.1" }, ""},
		{func(z *farm.Zone) { z.Records[1] = farm.Record{Name: "NS1", Type: "AAAA", Data: "2001:db8::1"} }, ""},
		{func(z *farm.Zone) { z.Records[1] = farm.Record{Name: "ns1", Type: farm.RecordDYNA, Data: "x"} }, ""},
		{func(z *farm.Zone) { z.Records[1] = farm.Record{Name: "ns1", Type: "TXT", Data: "x"} }, "ns1 has no address"},
		{func(z *farm.Zone) { z.NameServer, z.Records[0].Data = "ns.example.net.", "ns.example.net." }, ""},
		{func(z *farm.Zone) { z.Records[1].Data, z.NameServer = "192.0.2.1", "ns1.example.com." }, ""},
		{func(z *farm.Zone) { z.Records[1].Data, z.NameServer = "192.0.2.1", "ns2.example.com." }, "ns2.example.com. has no address"},
		{func(z *farm.Zone) { z.Records[1].Data, z.Records[0].Data = "192.0.2.1", "ns3" }, "ns3 has no address"},
	} {
		z := farm.NewZone("example.com")
		c.edit(&z)
		if got := gslbfarm.NameServerWarning(&z); c.says == "" && got != "" || !strings.Contains(got, c.says) {
			t.Errorf("%d: %q, want %q", i, got, c.says)
		}
	}
}

// A record set too large for a message is rejected once; one that just fits is accepted.
// Records of other types or names count separately.
func TestASetNoMessageHasRoomForIsRefused(t *testing.T) {
	texts := func(n int, names ...string) func(g *farm.GSLB) {
		return func(g *farm.GSLB) {
			for i := range n {
				text := fmt.Sprintf("%04d", i) + strings.Repeat("x", 196)
				g.Zones[0].Records = append(g.Zones[0].Records, farm.Record{Name: names[i%len(names)], Type: "TXT", Data: text})
			}
		}
	}
	// A record takes its name (3), that of the zone (11), 12 bytes, and the text with its
	// length.
	const fits = 60_000 / (3 + 11 + 12 + 201)
	if err := validate.Config(validatetest.Zone(texts(fits, "web"))); err != nil {
		t.Error(err)
	}
	if err := validate.Config(validatetest.Zone(texts(2*fits, "web", "ftp"))); err != nil {
		t.Error(err)
	}
	err := validate.Config(validatetest.Zone(texts(fits+20, "web")))
	if err == nil || strings.Count(err.Error(), "the records web TXT are more than 60000 bytes together") != 1 {
		t.Errorf("%v", err)
	}
	if err := validate.Config(validatetest.Zone(func(g *farm.GSLB) {
		texts(fits, "web")(g)
		for i := range 400 {
			g.Zones[0].Records = append(g.Zones[0].Records, farm.Record{Name: "WEB", Type: "A", Data: fmt.Sprintf("192.0.%d.%d", i/256, i%256)})
		}
	})); err != nil {
		t.Error(err)
	}
}

func TestAnAliasIsOfAHost(t *testing.T) {
	for data, says := range map[string]string{
		"www.example.net.": "", "www": "", "a_b.example.net": "",
		"192.0.2.1": "an address is a record of type A", "2001:db8::1": "an address is a record", "192.0.2.1.": "an address", "no where": "host name", "": "host name", "..": "host name", "a..b.": "host name",
	} {
		err := gslbfarm.CheckAlias(data)
		if says == "" && err != nil || says != "" && (err == nil || !strings.Contains(err.Error(), says)) {
			t.Errorf("%q: %v", data, err)
		}
	}
}

func TestAServiceAnswersNamesOfAFarmThatIsThere(t *testing.T) {
	names := farm.Farm{Name: "names", Profile: farm.ProfileGSLB, VIP: netip.MustParseAddr("192.0.2.1"), VPort: 53, Global: farm.DefaultGSLB()}
	for want, s := range map[string]farm.Service{
		"":                                 {DNSFarm: "names"},
		`there is none named "nobody"`:     {DNSFarm: "nobody"},
		`there is none named "web"`:        {DNSFarm: "web"}, // has another profile
		"dns_farm is not possible with re": {DNSFarm: "names", Redirect: "https://a.test"},
	} {
		cfg := validatetest.OnFarm(s, "https")
		cfg.Farms[0].Name = "web"
		cfg.Farms = append(cfg.Farms, names)
		all := validate.All(cfg)
		if want == "" && len(all) > 0 || want != "" && (len(all) != 1 || all[0].Field != "dns_farm" || !strings.Contains(all[0].Message, want)) {
			t.Errorf("%q: %v", want, all)
		}
	}
	cfg := validatetest.OnFarm(farm.Service{DNSFarm: "names"}, "https")
	cfg.RenameDNSFarm("names", "zones")
	if got := cfg.Farms[0].HTTP.Services[0].DNSFarm; got != "zones" {
		t.Errorf("it asks %q", got)
	}
}

// A mistyped key appears in the response, and thus in the audit log. Neither may contain
// its possible secret.
func TestASecretOfAMistypedTransferKeyIsNotRepeated(t *testing.T) {
	const secret = "c2VjcmV0cyBvZiAxNiBieXRlcw=="
	for _, sent := range []any{
		"hmac-sha256 ns2 " + secret, secret + ":ns2", "md5:ns2:" + secret, "hmac-sha256:ns2:" + secret + "!", secret,
		[]any{"ns2:" + secret, "ns2:" + secret}, []any{"ns2:" + secret, "NS2:" + secret + "x"}, []any{map[string]any{"key": secret}},
	} {
		_, err := profile.Named(farm.ProfileGSLB).Farm().Update.Decode("", map[string]any{"transfer_keys": sent})
		if err == nil || strings.Contains(err.Error(), secret) || !strings.Contains(err.Error(), "transfer_keys") {
			t.Errorf("%v: %v", sent, err)
		}
	}
}

func TestZonesThatCannotWorkGetAWarning(t *testing.T) {
	copied := func(g *farm.GSLB) { g.Transfers = []netip.Prefix{netip.MustParsePrefix("192.0.2.54/32")} }
	for want, edit := range map[string]func(*farm.GSLB){
		"": func(*farm.GSLB) {},
		"example.com: secondaries (transfer_from) copy the addresses that services choose at that moment, as those of www": copied,
		"example.com: it is signed as it is asked for":                                                                     func(g *farm.GSLB) { copied(g); g.Zones[0].Signing = farm.SignEd25519 },
		"example.com: it has no NS record, as @ NS ns1":                                                                    func(g *farm.GSLB) { g.Zones[0].Records[0].Name = "sub" },
		"its name server ns1 is a CNAME, but must have addresses": func(g *farm.GSLB) {
			g.Zones[0].Records[1] = farm.Record{Name: "ns1", Type: "CNAME", Data: "ns.example.net."}
		},
		"its name server 192.0.2.53 is an address": func(g *farm.GSLB) { g.Zones[0].Records[0].Data = "192.0.2.53" },
		"its name server ns1 has no address yet":   func(g *farm.GSLB) { g.Zones[0].Records[1].Name = "ns2" },
	} {
		g := validatetest.Zone(edit).Farms[0].Global
		if got := gslbfarm.ZoneWarning(g, &g.Zones[0]); !strings.Contains(got, want) || (want == "") != (got == "") {
			t.Errorf("%q: %q", want, got)
		}
	}
}

// If farms collide only on the DoT port, the error names that port.
func TestFarmsThatCollideByDoTAreToldItsPort(t *testing.T) {
	cfg := validatetest.Zone(func(g *farm.GSLB) { g.TLS = farm.DefaultTLS() })
	other := cfg.Farms[0].Clone()
	other.ID, other.Name, other.VPort = 2, "copy", 5300
	cfg.Farms = append(cfg.Farms, other)
	if err := validate.Config(cfg); err == nil || !strings.Contains(err.Error(), `192.0.2.10:5300 and dot_port 853 collides with farm "names" on 192.0.2.10:53 and dot_port 853`) {
		t.Error(err)
	}
}

// All ASCII characters, within a zone name.
func TestNamesOfZonesHaveSignsOfDomainsAlone(t *testing.T) {
	const allowed = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./"
	for sign := range byte(0x80) {
		_, err := gslbfarm.ZoneCreate.Decode("", map[string]any{"id": "a" + string(rune(sign)) + "b.example"})
		if is := strings.IndexByte(allowed, sign) >= 0; is != (err == nil) {
			t.Errorf("%q: %v", sign, err)
		}
	}
	for _, name := range []string{"@", "0", "*.example.com", "*", "a..b", ""} {
		if _, err := gslbfarm.ZoneCreate.Decode("", map[string]any{"id": name}); err == nil {
			t.Errorf("%q is accepted", name)
		}
	}
}

// A sealed key is shown in full, so that the document can be applied again.
func TestASealedTransferKeyIsShown(t *testing.T) {
	cfg := validatetest.Zone(func(g *farm.GSLB) { g.Keys = []farm.TransferKey{{Name: "ns2", Secret: farm.NewSealedSecret("abc")}} })
	f := &cfg.Farms[0]
	if got := profile.Of(f).Farm().Update.Answer(f)["transfer_keys"]; fmt.Sprint(got) != fmt.Sprint([]string{f.Global.Keys[0].String()}) {
		t.Errorf("%v", got)
	}
}

// The rules of records compare names, not spellings, and names must be in the zone.
func TestRulesOfRecordsCompareNames(t *testing.T) {
	long := strings.Repeat(strings.Repeat("a", 60)+".", 4)[:4*61-1] // valid alone, too long with the zone
	for _, c := range []struct {
		name, kind, data, want string
	}{
		{"example.com.", "CNAME", "x", "type CNAME is not possible for @"},
		{`ex\097mple.COM.`, "CNAME", "x", "type CNAME is not possible for @"},
		{"www.example.com.", "CNAME", "x", "record 4: type CNAME must be alone at its name, and www.example.com."},
		{`\119ww`, "CNAME", "x", `record 4: type CNAME must be alone at its name, and \119ww`},
		{"alias.example.com.", "A", "192.0.2.1", "record 4: type CNAME must be alone at its name, and alias"},
		{"www.example.com.", "A", "192.0.2.1", "record 4: type DYNA gives all addresses of its name, and www.example.com."},
		{`w\ww`, "AAAA", "2001:db8::1", "record 4: type DYNA gives all addresses of its name"},
		{"x.example.com.", "SOA", "a b 1 2 3 4 5", "rname must be @ for SOA"},
		{"example.com.", "DS", "12345 13 2 " + strings.Repeat("0", 64), "type DS is not possible for @"},
		{`\*`, "NS", "ns1", "type NS is not possible for the wildcard"},
		{"*.x.example.com.", "NS", "ns1", "type NS is not possible for the wildcard"},
		{"www.example.org.", "A", "192.0.2.1", "rname: \"www.example.org.\" is not in the zone example.com"},
		{"com.", "DYNA", "shop", "rname: \"com.\" is not in the zone example.com"},
		{long, "A", "192.0.2.1", "is too long: with the zone example.com"},
		{"example.com.", "SOA", "a b 1 2 3 4 5", ""},
		{"example.com.", "TXT", "x", ""},
		{"ns1.example.com.", "AAAA", "2001:db8::1", ""},
		{`a\.b`, "CNAME", "x", ""},
	} {
		for _, packed := range []bool{false, true} {
			cfg := validatetest.Zone(validatetest.Record(c.name, c.kind, c.data))
			if z := &cfg.Farms[0].Global.Zones[0]; packed { // the names of large zones are looked up otherwise
				for i := range 3000 {
					r := farm.Record{ID: uint32(10 + i), Name: fmt.Sprintf("h%d", i), Type: "A", Data: "192.0.2.1"}
					z.Records = append(z.Records, r)
				}
				z.Pack(nil)
			}
			err := validate.Config(cfg)
			if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
				t.Errorf("%s %s, packed %v: %v, want %q", c.name, c.kind, packed, err, c.want)
			}
		}
	}
	cfg := validatetest.Zone(func(g *farm.GSLB) {
		validatetest.Record("two", "DNAME", "a")(g)
		validatetest.Record("two.example.com.", "NS", "ns1")(g)
	})
	if err := validate.Config(cfg); err == nil || !strings.Contains(err.Error(), "type DNAME cannot be beside NS") {
		t.Errorf("DNAME and NS: %v", err)
	}
	cfg = validatetest.Zone(func(g *farm.GSLB) {
		validatetest.Record("@", "DNAME", "example.net.")(g)
		g.Zones[0].Records = slices.DeleteFunc(g.Zones[0].Records, func(r farm.Record) bool { return r.Name != "@" })
		validatetest.Record("example.com.", "NS", "ns.example.net.")(g)
	})
	if err := validate.Config(cfg); err != nil {
		t.Errorf("DNAME and NS at the apex: %v", err)
	}
}

// An edit of a valid zone checks only the changed names, in any spelling.
func TestAnEditComparesNames(t *testing.T) {
	was := &validatetest.Zone(func(g *farm.GSLB) {
		for i := range 3000 {
			validatetest.Record(fmt.Sprintf("h%d", i), "A", "192.0.2.1")(g)
		}
	}).Farms[0]
	was.Global.Zones[0].Pack(nil)
	for _, name := range []string{"h7", "H7", "h7.example.com.", `\1047`} {
		now := *was
		now.OwnZones()
		z := &now.Global.Zones[0]
		z.Append(farm.Record{Name: name, Type: "CNAME", Data: "www"})
		var problems []string
		gslbfarm.CheckEdited(&now, &was.Global.Zones[0], z, func(_ int, err field.Error) bool {
			problems = append(problems, err.Message)
			return true
		})
		if len(problems) != 1 || !strings.Contains(problems[0], "type CNAME must be alone") {
			t.Errorf("%s: %q", name, problems)
		}
	}
}
