package zonefile_test

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/mgmt/zonefile"
)

const file = `$TTL 300
@       IN SOA ns1 admin.example.net. ( 2026112701
                7200 900 1209600 60 ) ; the primary
        IN NS  ns1
        IN NS  ns.example.net.
ns1     A      192.0.2.53
www 60  A      192.0.2.1 ; of the shop
*.dev   CNAME  www
@       MX     10 mail.Example.Com.
$ORIGIN eu.example.com.
www     AAAA   2001:db8::1
@       TXT    "one ; two" "three"
_sip._tcp.example.com. SRV 1 2 5060 sip
shop    30 IN DYNA web-shop ; by health
sig     RRSIG  A 13 3 300 20270101000000 20260101000000 1 example.com. AAAA
`

func TestAByteOrderMarkIsSkipped(t *testing.T) {
	got, want := zonefile.Parse([]byte("\ufeff"+file), "example.com"), zonefile.Parse([]byte(file), "example.com")
	if len(got.Problems) > 0 || !reflect.DeepEqual(got, want) {
		t.Errorf("%+v", got)
	}
}

func TestAFileBecomesAZone(t *testing.T) {
	got := zonefile.Parse([]byte(file), "Example.com.")
	if len(got.Problems) > 0 {
		t.Fatal(got.Problems)
	}
	want := farm.Zone{Name: "example.com", NameServer: "ns1", Serial: 2026112701, TTL: 300, Records: []farm.Record{
		{Name: "@", Type: "SOA", Data: "ns1.example.com. admin.example.net. 2026112701 7200 900 1209600 60", Comment: "the primary"},
		{Name: "@", Type: "NS", Data: "ns1"},
		{Name: "@", Type: "NS", Data: "ns.example.net."},
		{Name: "ns1", Type: "A", Data: "192.0.2.53"},
		{Name: "www", Type: "A", TTL: 60, Data: "192.0.2.1", Comment: "of the shop"},
		{Name: "*.dev", Type: "CNAME", Data: "www"},
		{Name: "@", Type: "MX", Data: "10 mail"},
		{Name: "www.eu", Type: "AAAA", Data: "2001:db8::1"},
		{Name: "eu", Type: "TXT", Data: `"one ; two" "three"`},
		{Name: "_sip._tcp", Type: "SRV", Data: "1 2 5060 sip.eu"},
		{Name: "shop.eu", Type: "DYNA", TTL: 30, Data: "web-shop", Comment: "by health"},
	}}
	if !reflect.DeepEqual(got.Zone, want) {
		t.Errorf("%+v\nwant\n%+v", got.Zone, want)
	}
	if lines := []int{3, 4, 5, 6, 7, 8, 9, 11, 12, 13, 14}; !slices.Equal(got.Lines, lines) || got.Skipped["RRSIG"] != 1 {
		t.Errorf("lines %v, skipped %v", got.Lines, got.Skipped)
	}
}

func TestAZoneSurvivesItsFile(t *testing.T) {
	zone := zonefile.Parse([]byte(file), "example.com").Zone
	fresh := farm.NewZone("example.net")
	fresh.Serial = 7
	fresh.Records = append(fresh.Records, farm.Record{Name: "a", Type: "TXT", Data: "v=spf1 -all; no", Comment: "plain"}, farm.Record{Name: "m", Type: "MX", Data: "mail"}, farm.Record{Name: "d", Type: "DYNA", Data: "web"})
	reverse := farm.Zone{Name: "2.0.192.in-addr.arpa", NameServer: "ns1.example.com.", Serial: 1, Records: []farm.Record{{Name: "1", Type: "PTR", Data: "www.example.com."}}}
	for _, z := range []farm.Zone{zone, fresh, reverse} {
		text := zonefile.Text(farm.DefaultGSLB(), &z)
		got := zonefile.Parse(text, z.Name)
		if len(got.Problems) > 0 {
			t.Fatalf("%v\n%s", got.Problems, text)
		}
		if again := zonefile.Text(farm.DefaultGSLB(), &got.Zone); string(again) != string(text) && z.Name != "example.net" {
			t.Errorf("%s\nbecomes\n%s", text, again)
		}
		if got.Zone.Serial != z.Serial || got.Zone.NameServer != z.NameServer || len(got.Zone.Records) != len(z.Records) || got.Zone.TTL != z.TTL {
			t.Errorf("%+v\nwant\n%+v", got.Zone, z)
		}
	}
}

func TestAliasesAreReadAsOtherServersWriteThem(t *testing.T) {
	got := zonefile.Parse([]byte("$TTL 300\n@ ALIAS www.Example.net. ; the shop\nwww 60 IN alias shop\n"+
		"@ 300 TYPE65401 \\# 5 03617573 00\n$ORIGIN eu.example.com.\na (\n IN ALIAS www )\n$GENERATE 1-2 b$ ALIAS c$\n"), "example.com")
	want := []farm.Record{
		{Name: "@", Type: "ALIAS", Data: "www.Example.net.", Comment: "the shop"},
		{Name: "www", Type: "ALIAS", TTL: 60, Data: "shop.example.com."},
		{Name: "@", Type: "ALIAS", Data: "aus."},
		{Name: "a.eu", Type: "ALIAS", Data: "www.eu.example.com."},
		{Name: "b1.eu", Type: "ALIAS", TTL: 3600, Data: "c1.eu.example.com."},
		{Name: "b2.eu", Type: "ALIAS", TTL: 3600, Data: "c2.eu.example.com."},
	}
	if len(got.Problems) > 0 || !reflect.DeepEqual(got.Zone.Records, want) {
		t.Errorf("%v, %+v", got.Problems, got.Zone.Records)
	}
}

// A service that was made for an ALIAS is written as one, and one that does more is not.
func TestAliasesSurviveTheirFile(t *testing.T) {
	g := farm.DefaultGSLB()
	z := farm.NewZone("example.com")
	z.Records = append(z.Records, farm.Record{Name: "mail", Type: "A", Data: "192.0.2.25"})
	for _, data := range []string{"www.example.net.", "shop"} {
		r := farm.Record{Name: "a", Type: farm.RecordALIAS, TTL: 60, Data: data, Comment: "note"}
		g.Alias(&z, &r)
		z.Records = append(z.Records, r)
	}
	g.Services[0].Backends = append(g.Services[0].Backends, farm.Backend{Of: 1, Host: "192.0.2.1"}, farm.Backend{Of: 1, Host: "192.0.2.2"}) // once it is resolved
	text := string(zonefile.Text(g, &z))
	for _, want := range []string{"\na\t60\tIN\tALIAS\twww.example.net. ; note\n", "\na\t60\tIN\tALIAS\tshop.example.com. ; note\n"} {
		if !strings.Contains(text, want) {
			t.Errorf("%s\nwithout\n%s", text, want)
		}
	}
	again := zonefile.Parse([]byte(text), "example.com").Zone
	for i := range again.Records {
		if r := &again.Records[i]; r.Type == farm.RecordALIAS {
			g.Alias(&again, r)
		}
	}
	if !reflect.DeepEqual(again.Records, z.Records) || len(g.Services) != 2 {
		t.Errorf("%+v\nwant\n%+v, of services %+v", again.Records, z.Records, g.Services)
	}
	g.Services[0].Backends = append(g.Services[0].Backends, farm.Backend{Host: "www.example.org", Resolve: farm.ResolveAll})
	g.Services[1].Name, z.Records[4].Data = "shops", "shops"
	if text := string(zonefile.Text(g, &z)); strings.Contains(text, "ALIAS\t") || !strings.Contains(text, "; DYNA shops: note") {
		t.Error(text)
	}
}

func TestProblemsHaveTheirLine(t *testing.T) {
	for text, want := range map[string]string{
		"www A 192.0.2.1\nwww A 192.0.2.300\n":                  `line 2: A is an IPv4 address, as 192.0.2.1, got "192.0.2.300"`,
		"\n\nwww A\n":                                           `line 3: "" is no data of A: it is an IPv4 address, as 192.0.2.1`,
		"www.example.org. A 192.0.2.1\n":                        `line 1: www.example.org. is not in the zone example.com`,
		"a A 192.0.2.1\nb CH A 192.0.2.1\n":                     `line 2: records of class CH are not possible, IN is`,
		"a SSHFP 1 1 00\n":                                      `line 1: records of type SSHFP are not possible`,
		"a TYPE65400 \\# 1 00\n":                                `line 1: TYPE65400 is a type of private use that is not known`,
		"@ SOA a b 1 2 3 4 5\n@ SOA a b 2 2 3 4 5\n":            `line 2: the zone has another SOA record`,
		"$INCLUDE /etc/passwd\n":                                `line 1: $INCLUDE directive not allowed, at "/etc/passwd"`,
		"www A 192.0.2.1 and more\n":                            `line 1: garbage after rdata, at "and"`,
		"a DS 1 13 2 00\n":                                      `line 1: "1 13 2 00" is no data of DS: it is key tag, algorithm, digest type and digest, as 12345 13 2 and 64 digits`,
		"a ALIAS b\n\na ALIAS b..c\n":                           `line 3: ALIAS is the name of a host, as www.example.net., got "b..c"`,
		"a ALIAS b\na ALIAS\n":                                  `line 2: "" is no data of ALIAS: it is the name of a host, as www.example.net.`,
		"a ALIAS b c\n":                                         `line 1: garbage after rdata, at "c"`,
		"a FOO bar\n":                                           `line 1: "FOO" is no type of records, and no time to live`,
		"www TXT \"open\nb A 192.0.2.1\n":                       `line 1: TXT is text, as v=spf1 -all, or texts in quotes, as "one" "two", got " "`,
		"$GENERATE 1-65535 a$ A 192.0.2.1\n":                    "",
		strings.Repeat("$GENERATE 1-65535 a$ A 192.0.2.1\n", 9): `$GENERATE makes too many records, at most 262144 are possible`,
	} {
		got := zonefile.Parse([]byte(text), "example.com")
		said := fmt.Sprint(got.Problems)
		if want == "" && len(got.Problems) == 0 {
			continue
		}
		if len(got.Problems) == 0 || !strings.Contains(said, want) {
			t.Errorf("%.60q: %v, want %s", text, got.Problems, want)
		}
	}
	if long := zonefile.Parse([]byte(strings.Repeat("a", 1<<20)), "example.com").Problems; len(long) != 1 || len(long[0].Error()) > 400 {
		t.Errorf("%d problems", len(long))
	}
	many := zonefile.Parse([]byte(strings.Repeat("a.example.org. A 192.0.2.1\n", 100)), "example.com")
	if len(many.Problems) != 20 || many.Problems[19].Line != 20 {
		t.Errorf("%d problems", len(many.Problems))
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(file))
	f.Add([]byte("@ ALIAS www.example.net.\n$ORIGIN eu\na 5 IN ALIAS @\nb TYPE65401 \\# 1 00"))
	f.Add([]byte("$GENERATE 1-3 a$ DYNA s\n\tDYNA x ; y\n( a ) TXT \"\\"))
	f.Fuzz(func(t *testing.T, text []byte) {
		got := zonefile.Parse(text, "example.com")
		if len(got.Problems) > 0 || len(got.Zone.Records) > 1000 {
			return
		}
		again := zonefile.Parse(zonefile.Text(farm.DefaultGSLB(), &got.Zone), "example.com")
		if len(again.Problems) > 0 || len(again.Zone.Records) != len(got.Zone.Records) {
			t.Errorf("%q becomes %q: %v", text, zonefile.Text(farm.DefaultGSLB(), &got.Zone), again.Problems)
		}
	})
}

// What dig prints of an AXFR ends with the SOA record it begins with (RFC 5936 §2.2).
func TestACopyOfAZoneIsAFileOfIt(t *testing.T) {
	const soa = "@ 300 IN SOA ns1 hostmaster 7 3600 600 604800 300\n"
	got := zonefile.Parse([]byte(soa+"@ 300 IN NS ns1\nns1 300 IN A 192.0.2.53\n"+soa), "example.com")
	if len(got.Problems) > 0 || got.Zone.Serial != 7 || len(got.Zone.Records) != 2 {
		t.Errorf("%v, %+v", got.Problems, got.Zone)
	}
}

// Nothing is kept for no time at all: that is said, and so is what RFC 2181 §8 takes for it.
func TestRecordsThatAreNotToBeKeptAreKeptForASecond(t *testing.T) {
	got := zonefile.Parse([]byte("$TTL 0\na A 192.0.2.1\nb 2147483648 A 192.0.2.2\nc 2147483647 A 192.0.2.3\n"), "example.com")
	if z := got.Zone; len(got.Problems) > 0 || got.Raised != 2 || z.TTL != 1 || z.Records[2].TTL != 1<<31-1 {
		t.Errorf("%v, %d raised, %+v", got.Problems, got.Raised, z)
	}
}
