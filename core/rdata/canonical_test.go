package rdata_test

import (
	"strings"
	"testing"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/core/rdata"
)

// canonical changes only the case of names.
func TestOnlyNamesAreInLowerCase(t *testing.T) {
	for text, want := range map[string]string{
		"NS NS1.Example.": "ns1.example.", "CNAME WWW.Example.": "www.example.", "PTR WWW.Example.": "www.example.", "MX 66 MAIL.Example.": "66 mail.example.",
		"SRV 65 66 67 WWW.Example.": "65 66 67 www.example.", "SOA NS.Example. HOST.Example. 1094795585 1 1 1 1094795585": "ns.example. host.example. 1094795585 1 1 1 1094795585",
		`NAPTR 65 66 "S" "SIP+D2U" "!A!B!" SIP.Example.`: `65 66 "S" "SIP+D2U" "!A!B!" sip.example.`,
		"DNAME WWW.Example.":                             "www.example.", "RP HOST.Example. TXT.Example.": "host.example. txt.example.", "AFSDB 66 AFS.Example.": "66 afs.example.", "KX 66 KX.Example.": "66 kx.example.",
		"RT 66 RT.Example.": "66 rt.example.", "LP 66 LP.Example.": "66 LP.Example.",
		`CNAME A\255\195\132B.Example.`: `a\255\195\132b.example.`, // only ASCII letters have a case
		`TXT "ABC"`:                     `"ABC"`, "HTTPS 1 WWW.Example.": "1 WWW.Example.",
	} {
		kind, data, _ := strings.Cut(text, " ")
		code := rdata.TypeNamed(kind)
		raw, err := rdata.Pack(farm.RecordType(kind), data, "example")
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.TrimSpace(rdata.Text(code, rdata.Canonical(code, raw))); got != want {
			t.Errorf("%s: %s, want %s", text, got, want)
		}
	}
}

// Secondaries keep one record of two that differ in the case of a name.
func TestDataCompareCaseInsensitively(t *testing.T) {
	for _, c := range []struct {
		kind farm.RecordType
		a, b string
		same bool
	}{
		{"CNAME", "www", "WWW", true}, {"MX", "10 mail", "10 MAIL", true}, {"MX", "10 mail", "11 mail", false}, {"MX", "16705 mail", "24929 mail", false},
		{"TXT", "x", "X", false}, {"A", "65.65.65.65", "97.97.97.97", false}, {"CNAME", "a", "b", false}, {"SRV", "1 2 3 A", "1 2 3 a", true},
	} {
		a, err := rdata.Pack(c.kind, c.a, "example")
		b, bad := rdata.Pack(c.kind, c.b, "example")
		if err != nil || bad != nil {
			t.Fatal(err, bad)
		}
		if got := rdata.Same(rdata.Code(c.kind), a, b); got != c.same {
			t.Errorf("%s: %s and %s are the same: got %v, want %v", c.kind, c.a, c.b, got, c.same)
		}
	}
}

// An escape may stand for a letter, and it must be a byte (RFC 1035 §5.1).
func TestEscapesOfNames(t *testing.T) {
	for text, want := range map[string]string{
		`\065B`: "ab.example.", `\255`: `\255.example.`, `a\.b`: `a\.b.example.`, `\256`: "", `\25b`: "", `a\2`: "", "ä": "",
	} {
		name, _ := rdata.Name(text, "example")
		err := rdata.CheckName(text, "example")
		if got := rdata.NameText(name); err == nil && got != want || (err == nil) != (want != "") {
			t.Errorf("%s: %s, %v; want %s", text, got, err, want)
		}
	}
}
