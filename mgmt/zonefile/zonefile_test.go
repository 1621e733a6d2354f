package zonefile_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
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
	if lines := []int{2, 4, 5, 6, 7, 8, 9, 11, 12, 13, 14}; !slices.Equal(got.Lines, lines) || got.Skipped["RRSIG"] != 1 {
		t.Errorf("lines %v, skipped %v", got.Lines, got.Skipped)
	}
}

func TestAZoneSurvivesItsFile(t *testing.T) {
	zone := zonefile.Parse([]byte(file), "example.com").Zone
	fresh := farm.NewZone("example.net")
	fresh.Serial = 7
	fresh.Records = append(fresh.Records, farm.Record{Name: "a", Type: "TXT", Data: "v=spf1 -all; no", Comment: "plain"}, farm.Record{Name: "m", Type: "MX", Data: "mail"}, farm.Record{Name: "d", Type: "DYNA", Data: "web"})
	fresh.Records = append(fresh.Records, farm.Record{Name: "r", Type: "SINK", Data: "64 0 1 AQID"}, farm.Record{Name: "s", Type: "A6", Data: "64 ::1 net"})
	if text := string(zonefile.Text(farm.DefaultGSLB(), &fresh)); !strings.Contains(text, "\nr\tIN\tTYPE40\t\\# 6 400001010203\n") || !strings.Contains(text, "TYPE38\t\\# 26 400000000000000001036e6574") {
		t.Errorf("other servers cannot read\n%s", text)
	}
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
		{Name: "b1.eu", Type: "ALIAS", Data: "c1.eu.example.com."},
		{Name: "b2.eu", Type: "ALIAS", Data: "c2.eu.example.com."},
	}
	if len(got.Problems) > 0 || !reflect.DeepEqual(got.Zone.Records, want) {
		t.Errorf("%v, %+v", got.Problems, got.Zone.Records)
	}
}

// A service that was made for an ALIAS is written as one, and a service with more settings
// is not.
func TestAliasesSurviveTheirFile(t *testing.T) {
	g := farm.DefaultGSLB()
	z := farm.NewZone("example.com")
	z.Records = append(z.Records, farm.Record{Name: "mail", Type: "A", Data: "192.0.2.25"})
	for _, data := range []string{"www.example.net.", "shop"} {
		r := farm.Record{Name: "a", Type: farm.RecordALIAS, TTL: 60, Data: data, Comment: "note"}
		g.Alias(&z, &r)
		z.Records = append(z.Records, r)
	}
	g.Services[0].Backends = append(g.Services[0].Backends, farm.Backend{Of: 1, Host: "192.0.2.1"}, farm.Backend{Of: 1, Host: "192.0.2.2"}) // after it has been resolved
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
		"www A 192.0.2.1\nwww A 192.0.2.300\n":       `line 2: "192.0.2.300" is no data of A: it is an IPv4 address, as 192.0.2.1`,
		"\n\nwww A\n":                                `line 3: "" is no data of A: it is an IPv4 address, as 192.0.2.1`,
		"www.example.org. A 192.0.2.1\n":             `line 1: www.example.org. is not in the zone example.com`,
		"a A 192.0.2.1\nb CH A 192.0.2.1\n":          `line 2: records of class CH are not possible, IN is`,
		"a MD b\n":                                   `line 1: records of type MD are not possible`,
		"a TYPE65535 \\# 0\n":                        `line 1: records of type TYPE65535 are not possible`,
		"a TYPE65534 \\# 2 00\n":                     `line 1: "\# 2 00" is no data: it is \# , the length`,
		"a SSHFP x\n":                                `line 1: "x" is no data of SSHFP: it is algorithm, type`,
		"a A 192.0.2.1 )\n":                          `line 1: a parenthesis is closed that was not open`,
		"\n\na TXT ( b\nc A 192.0.2.1\n":             `line 3: a parenthesis is open at its end`,
		"\tA 192.0.2.1\n":                            `line 1: it begins with a blank, and no record before it has a name`,
		"a\n":                                        `line 1: it has no type`,
		"$ORIGIN a..b\n":                             `line 1: $ORIGIN "a..b": a name is labels`,
		"$TTL x\n":                                   `line 1: $TTL is a time to live, as 3600 or 1h, got "x"`,
		"$TTL 1 2\n":                                 `line 1: garbage after $TTL, at "2"`,
		"$GENERATE 2-1 a$ A 192.0.2.$\n":             `line 1: $GENERATE needs a range, as 1-10 or 0-8/2, got "2-1"`,
		"$GENERATE 1-2 a${0,1,q} A 192.0.2.1\n":      `line 1: $GENERATE has a number in a form that is not known`,
		"a TYPE65400 \\# 1 00\n":                     `line 1: TYPE65400 is the type of private use that stands for DYNA`,
		"@ SOA a b 1 2 3 4 5\n@ SOA a b 2 2 3 4 5\n": `line 2: the zone has another SOA record`,
		"$INCLUDE /etc/passwd\n":                     `line 1: $INCLUDE directive not allowed, at "/etc/passwd"`,
		"www A 192.0.2.1 and more\n":                 `line 1: "192.0.2.1 and more" is no data of A: it is an IPv4 address, as 192.0.2.1`,
		"a DS 1 13 2 00\n":                           `line 1: "1 13 2 00" is no data of DS: it is key tag, algorithm, digest type and digest, as 12345 13 2 and 64 digits`,
		"a ALIAS b\n\na ALIAS b..c\n":                `line 3: "b..c" is no data of ALIAS: it is the name of a host, as www.example.net.`,
		"a ALIAS b\na ALIAS\n":                       `line 2: "" is no data of ALIAS: it is the name of a host, as www.example.net.`,
		"a ALIAS b c\n":                              `line 1: "b c" is no data of ALIAS: it is the name of a host, as www.example.net.`,
		"a FOO bar\n":                                `line 1: "FOO" is no type of records, and no time to live`,
		"www TXT \"open\nb A 192.0.2.1\n":            `line 1: a quote is open at its end`,
		"$GENERATE 1-65535 a$ A 192.0.2.1\n":         "",
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
	many := zonefile.Parse([]byte(strings.Repeat("a.example.org. A 192.0.2.1\n", 1100)), "example.com")
	if len(many.Problems) != 1000 || many.Problems[999].Line != 1000 || many.More != 100 {
		t.Errorf("%d problems", len(many.Problems))
	}
}

// The lines after an invalid one are read correctly.
func TestEveryFaultyLineIsReported(t *testing.T) {
	got := zonefile.Parse([]byte("$TTL 60\n$ORIGIN eu.example.com.\nbad A 1\n\tTXT \"open\n\tAAAA ::1\nx FOO\n$TTL z\n"+
		"y MX (\n ten mail )\nc TXT ( a\nz A 192.0.2.1\n\tTXT ok\nw A 192.0.2.256\n"), "example.com")
	var lines []int
	for _, p := range got.Problems {
		lines = append(lines, p.Line)
	}
	want := []farm.Record{{Name: "bad.eu", Type: "AAAA", Data: "::1"}, {Name: "z.eu", Type: "A", Data: "192.0.2.1"}, {Name: "z.eu", Type: "TXT", Data: `"ok"`}}
	if !slices.Equal(lines, []int{3, 4, 6, 7, 8, 10, 13}) || !reflect.DeepEqual(got.Zone.Records, want) || got.Zone.TTL != 60 {
		t.Errorf("%v: %+v", got.Problems, got.Zone)
	}
	many := strings.Repeat("a TXT (\n", 1<<18)
	if got := zonefile.Parse([]byte(many), "example.com"); len(got.Problems)+got.More != 1<<18 {
		t.Errorf("%d problems", len(got.Problems)+got.More)
	}
}

// Each record is compared with the result of BIND, if that is installed.
func TestFilesAreReadAsBINDReadsThem(t *testing.T) {
	for line, want := range map[string]string{
		`a TYPE65534 \# 4 0a0B 0c0d`: `a TYPE65534 \# 4 0a0b0c0d`,
		`a TYPE65534 \# 0`:           `a TYPE65534 \# 0`,
		`a TYPE1 \# 4 c0000201`:      `a A 192.0.2.1`,
		`a A \# 4 c0000201`:          `a A 192.0.2.1`,
		`a MX \# 4 000a0162`:         ``,
		`a SSHFP 4 2 ( 00112233445566778899aabbccddeeff 00112233445566778899aabbccddeeff ) ; key`: `a SSHFP 4 2 00112233445566778899AABBCCDDEEFF00112233445566778899AABBCCDDEEFF`,
		`a DNAME b`:                                `a DNAME b`,
		`a HINFO ARM Linux`:                        `a HINFO "ARM" "Linux"`,
		`a RP admin .`:                             `a RP admin.example.com. .`,
		`a LOC 48 8 0 N 11 34 0 E 520m`:            `a LOC 48 08 0.000 N 11 34 0.000 E 520m 1m 10000m 10m`,
		`a URI 10 1 "https://www.example.com/"`:    `a URI 10 1 "https://www.example.com/"`,
		`a CERT PKIX 0 0 MIIB`:                     `a CERT PKIX 0 0 MIIB`,
		`a OPENPGPKEY AQ==`:                        `a OPENPGPKEY AQ==`,
		`a AFSDB 1 b`:                              `a AFSDB 1 b`,
		`a NAPTR 100 10 S SIP+D2U "" _sip._udp`:    `a NAPTR 100 10 "S" "SIP+D2U" "" _sip._udp.example.com.`,
		`a HTTPS 1 . alpn=h2,h3 key7="/q{?dns}"`:   `a HTTPS 1 . alpn="h2,h3" dohpath="/q{?dns}"`,
		`a HTTPS 1 . ipv6hint=::ffff:192.0.2.1`:    `a HTTPS 1 . ipv6hint="::ffff:192.0.2.1"`,
		`a SVCB 1 b key667="x y" port=53`:          `a SVCB 1 b.example.com. port="53" key667="x y"`,
		`a HTTPS 1 . key1="\002h2"`:                `a HTTPS 1 . alpn="h2"`,
		`a AAAA ::ffff:192.0.2.1`:                  `a AAAA ::ffff:192.0.2.1`,
		`a DS 12345 ECDSAP256SHA256 2 ` + digest:   `a DS 12345 13 2 ` + digest,
		`a\.b A 192.0.2.1`:                         `a\.b A 192.0.2.1`,
		`a\032b A 192.0.2.1`:                       `a\ b A 192.0.2.1`,
		`a\ b A 192.0.2.1`:                         `a\ b A 192.0.2.1`,
		`a\(b\; A 192.0.2.1`:                       `a\(b\; A 192.0.2.1`,
		`\097 A 192.0.2.1`:                         `a A 192.0.2.1`,
		`\@ A 192.0.2.1`:                           `\@ A 192.0.2.1`,
		`a\.example.com. A 192.0.2.1`:              ``,
		`a TXT one "two"three`:                     `a TXT "one" "two" "three"`,
		`a TXT \"q`:                                `a TXT "\"q"`,
		`a 1h30m IN TXT x`:                         `a TXT "x"`,
		`a IN 5400 TXT x`:                          `a TXT "x"`,
		`a TXT x 60`:                               `a TXT "x" "60"`,
		`$GENERATE 18-18 ${0,3,n} A 192.0.2.$`:     `2.1 A 192.0.2.18`,
		`$GENERATE 18-18 ${0,5,N} A 192.0.2.$`:     `2.1.0 A 192.0.2.18`,
		`$GENERATE 8-9/2 a${-3,4,d} CNAME b$$`:     `a0005 CNAME b$`,
		`$GENERATE 8-9/2 a${-3,4,d} CNAME b${1}`:   `a0005 CNAME b9`,
		`$GENERATE 31-31 a${0,4,x} 60 IN TXT x$\$`: `a001f TXT "x31$"`,
		`@ DNSKEY 257 3 ECDSAP256SHA256 AQ==`:      ``,
	} {
		got := zonefile.Parse([]byte("$TTL 60\n"+line+"\n"), "example.com")
		text := ""
		if r := got.Zone.Records; len(r) == 1 {
			text = r[0].Name + " " + string(r[0].Type) + " " + r[0].Data
		}
		skipped := strings.Contains(line, "DNSKEY")
		if text != want || len(got.Problems) == 0 != (want != "" || skipped) {
			t.Errorf("%s: %s, want %s; %v", line, text, want, got.Problems)
		}
		compiled, err := compile(t, line)
		if errors.Is(err, exec.ErrNotFound) || skipped {
			continue
		}
		if again, _ := compile(t, want); compiled != again {
			t.Errorf("BIND: %s: %s; %s, which it reads as %s", line, compiled, want, again)
		}
	}
}

const digest = "00FF00FF00FF00FF00FF00FF00FF00FF00FF00FF00FF00FF00FF00FF00FF00FF"

// compile returns the result of BIND for a record of example.com.
func compile(t *testing.T, line string) (string, error) {
	tool, err := exec.LookPath("named-compilezone")
	if err != nil {
		return "", err
	}
	file := filepath.Join(t.TempDir(), "zone")
	if err := os.WriteFile(file, []byte("$TTL 60\n@ SOA ns h 1 2 3 4 5\n@ NS ns\nns A 192.0.2.53\n"+line+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command(tool, "-q", "-k", "ignore", "-s", "full", "-o", "-", "example.com", file).Output()
	var kept []string
	for text := range strings.Lines(string(out)) {
		words := strings.Fields(text)
		if len(words) > 3 && words[3] != "SOA" && words[3] != "NS" && words[0] != "ns.example.com." {
			kept = append(kept, strings.Join(append(words[:1:1], words[3:]...), " ")) // without the TTL
		}
	}
	return strings.Join(kept, "\n"), err
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

// The output of dig for an AXFR ends with the SOA record that it begins with (RFC 5936
// §2.2).
func TestACopyOfAZoneIsAFileOfIt(t *testing.T) {
	const soa = "@ 300 IN SOA ns1 hostmaster 7 3600 600 604800 300\n"
	got := zonefile.Parse([]byte(soa+"@ 300 IN NS ns1\nns1 300 IN A 192.0.2.53\n"+soa), "example.com")
	if len(got.Problems) > 0 || got.Zone.Serial != 7 || len(got.Zone.Records) != 2 {
		t.Errorf("%v, %+v", got.Problems, got.Zone)
	}
}

// A TTL of zero is kept, and so is one beyond 31 bits, which is zero (RFC 2181 §8). The
// written file is read as the same zone.
func TestATTLOfZeroIsKept(t *testing.T) {
	for _, text := range []string{
		"$TTL 0\na A 192.0.2.1\nb 2147483648 A 192.0.2.2\nc 2147483647 A 192.0.2.3\n",
		"$TTL 60\na 0 A 192.0.2.1\nb 0 A 192.0.2.2\nc 2147483647 A 192.0.2.3\nd A 192.0.2.4\ne A 192.0.2.5\nf A 192.0.2.6\n",
	} {
		got := zonefile.Parse([]byte(text), "example.com")
		z := &got.Zone
		if len(got.Problems) > 0 || z.Records[0].EffectiveTTL(z) != 0 || z.Records[1].EffectiveTTL(z) != 0 || z.Records[2].EffectiveTTL(z) != 1<<31-1 {
			t.Errorf("%v, %+v", got.Problems, z)
		}
		again := zonefile.Parse(zonefile.Text(farm.DefaultGSLB(), z), "example.com")
		for i := range z.Records {
			if a, b := z.Records[i].EffectiveTTL(z), again.Zone.Records[i].EffectiveTTL(&again.Zone); a != b {
				t.Errorf("the TTL of %s is %d, and %d after it was written and read", z.Records[i].Name, a, b)
			}
		}
	}
}

// All names are in the root zone, which is a dot in every text.
func TestTheRootZoneIsReadAndWritten(t *testing.T) {
	const text = ". 86400 IN SOA a.root. nstld.example. 7 1800 900 604800 86400\n. 518400 IN NS a.root.\na.root. 518400 IN A 192.0.2.1\ncom. 172800 IN NS ns.com.\nns.com. 172800 IN A 192.0.2.2\n@ TXT x\n"
	for _, name := range []string{".", ""} {
		got := zonefile.Parse([]byte(text), name)
		z := &got.Zone
		if len(got.Problems) > 0 || z.Name != "." || z.NameServer != "a.root" || len(z.Records) != 6 || z.Records[1].Name != "@" || z.Records[2].Name != "a.root" || z.Records[4].Name != "ns.com" {
			t.Fatalf("%v, %+v", got.Problems, z)
		}
		written := string(zonefile.Text(farm.DefaultGSLB(), z))
		if again := zonefile.Parse([]byte(written), "."); len(again.Problems) > 0 || !slices.Equal(again.Zone.Records, z.Records) || !strings.HasPrefix(written, "$ORIGIN .\n") {
			t.Errorf("%v: %s", again.Problems, written)
		}
	}
}
