package rdata_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/miekg/dns"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/core/rdata"
)

func TestNamesAreRelativeToTheirZone(t *testing.T) {
	for _, c := range []struct{ text, zone, want string }{
		{"www", "Example.com", "www.example.com."},
		{"WWW.a", "example.com.", "www.a.example.com."},
		{"@", "example.com", "example.com."},
		{"www.other.org.", "example.com", "www.other.org."},
		{"*", "example.com", "*.example.com."},
		{"com", "", "com."},
		{".", "example.com", "."},
	} {
		wire, err := rdata.Name(c.text, c.zone)
		if err != nil || rdata.NameText(wire) != c.want {
			t.Errorf("%q in %q: %q, %v; want %q", c.text, c.zone, rdata.NameText(wire), err, c.want)
		}
	}
}

func TestInvalidNamesAreRefused(t *testing.T) {
	long := strings.Repeat("a", 64)
	for _, text := range []string{"", "a..b", long, strings.Repeat("a.", 130), "a b", "a\nb", `a"b`, "(a", ";a"} {
		if wire, err := rdata.Name(text, "example.com"); err == nil || !strings.Contains(err.Error(), "labels") {
			t.Errorf("%q: %q, %v", text, wire, err)
		}
	}
}

var digest = strings.Repeat("00ff", 16)

func TestDataOfEveryTypeRoundTrips(t *testing.T) {
	for of, text := range map[farm.RecordType][2]string{
		"A":     {"192.0.2.1", "192.0.2.1"},
		"AAAA":  {"2001:db8::1", "2001:db8::1"},
		"NS":    {"ns1", "ns1.example.com."},
		"CNAME": {"www.other.org.", "www.other.org."},
		"MX":    {"mail", "10 mail.example.com."},
		"SRV":   {"10 60 5060 sip", "10 60 5060 sip.example.com."},
		"TXT":   {"v=DMARC1; p=none", `"v=DMARC1; p=none"`},
		"PTR":   {"host", "host.example.com."},
		"NAPTR": {`100 10 "S" "SIP+D2U" "" _sip._udp`, `100 10 "S" "SIP+D2U" "" _sip._udp.example.com.`},
		"SOA":   {"ns1 hostmaster 1 2 3 4 5", "ns1.example.com. hostmaster.example.com. 1 2 3 4 5"},
		"CAA":   {`0 issue "letsencrypt.org"`, `0 issue "letsencrypt.org"`},
		"TLSA":  {"3 1 1 " + digest, "3 1 1 " + digest},
		"SVCB":  {"1 . alpn=h2", `1 . alpn="h2"`},
		"HTTPS": {"1 . alpn=h2", `1 . alpn="h2"`},
		"DS":    {"12345 13 2 " + digest, "12345 13 2 " + strings.ToUpper(digest)},
	} {
		data, err := rdata.Pack(of, text[0], "example.com")
		if got := rdata.Text(rdata.Code(of), data); err != nil || got != text[1] {
			t.Errorf("%s %s: %s, %v; want %s", of, text[0], got, err, text[1])
		}
		if _, err := rdata.Pack(of, "", "example.com"); err == nil || !strings.Contains(err.Error(), rdata.Shape(of)) {
			t.Errorf("empty data of %s: %v", of, err)
		}
	}
	for _, of := range farm.RecordTypes() {
		if of != farm.RecordDYNA && rdata.Shape(of) == rdata.Shape("TYPE65534") {
			t.Errorf("%s: its data has no description", of)
		}
	}
}

func TestLongAndEscapedTextsArePacked(t *testing.T) {
	long := strings.Repeat("x", 300)
	data, err := rdata.Pack("TXT", long, "example.com")
	if err != nil || data[0] != 255 || data[256] != 45 || len(data) != 302 {
		t.Errorf("%d bytes, %v", len(data), err)
	}
	if data, err = rdata.Pack("TXT", `a\b`, "example.com"); err != nil || !bytes.Equal(data, []byte("\x03a\\b")) {
		t.Errorf("%q, %v", data, err)
	}
	if data, err = rdata.Pack("TXT", `"one" "two"`, "example.com"); err != nil || !bytes.Equal(data, []byte("\x03one\x03two")) {
		t.Errorf("%q, %v", data, err)
	}
}

func TestDataOfOtherTypesIsRefused(t *testing.T) {
	for _, c := range []struct {
		of   farm.RecordType
		text string
	}{
		{"A", "2001:db8::1"}, {"AAAA", "192.0.2.1"}, {"A", "192.0.2.1\n@ 1 IN A 192.0.2.2"}, {"A", "192.0.2.1 192.0.2.2"},
		{"DYNA", "shop"}, {"ANY", "x"}, {"NS", "a b"}, {"MX", "70000 mail"}, {"SRV", "1 2 70000 a"}, {"DS", "12345 13 2 00ff"}, {"DS", "12345 13 1 " + digest}, {"TLSA", "3 1 2 " + digest}, {"TXT", "a\x00"},
	} {
		if data, err := rdata.Pack(c.of, c.text, "example.com"); err == nil {
			t.Errorf("%s %q is accepted as %q", c.of, c.text, data)
		}
	}
}

// A semicolon starts a comment in a file. Data must not lose anything to a comment.
func TestUnquotedCommentsAreRefused(t *testing.T) {
	for text, whole := range map[string]bool{
		`0 issue "ca.example; account=1"`: true, `0 issue ca.example; account=1`: false, `0 issue ca.example\; account=1`: false,
		`0 issue "a\"; b" `: true, `0 issue "a" ; b`: false, `0 issue "a\\"; b`: false,
	} {
		data, err := rdata.Pack("CAA", text, "example.com")
		if (err == nil) != whole || !whole && !strings.Contains(text, `\;`) && !errors.Is(err, rdata.ErrComment) {
			t.Errorf("%s: %q, %v", text, data, err)
		}
	}
	if data, err := rdata.Pack("TXT", "v=DKIM1; p=MIG", "example.com"); err != nil || string(data) != "\x0ev=DKIM1; p=MIG" {
		t.Errorf("%q, %v", data, err)
	}
	if data, err := rdata.Pack("TXT", `v=DKIM1; p=MIG"x"`, "example.com"); err == nil {
		t.Errorf("%q", data)
	}
	if data, err := rdata.Pack("MX", "10 mail ; the old one", "example.com"); err == nil {
		t.Errorf("%q", data)
	}
}

func FuzzPack(f *testing.F) {
	f.Add("TXT", "v=spf1 -all")
	f.Add("NAPTR", `100 10 "S" "SIP+D2U" "" _sip._udp`)
	f.Add("SVCB", "1 . alpn=h2 ipv4hint=192.0.2.1")
	f.Add("A", "$INCLUDE /etc/passwd")
	f.Fuzz(func(t *testing.T, of, text string) {
		data, err := rdata.Pack(farm.RecordType(of), text, "example.com")
		if err == nil && len(data) > 65535 {
			t.Errorf("%d bytes", len(data))
		}
	})
}

func TestDSMatchesByAnyDigest(t *testing.T) {
	public, _, err := rdata.NewKey(farm.SignEd25519)
	if err != nil {
		t.Fatal(err)
	}
	other, _, _ := rdata.NewKey(farm.SignEd25519)
	k := rdata.KeyOf("example.com", farm.SignEd25519, public)
	for ds, want := range map[string]bool{
		k.DS: true, strings.ToLower(k.DS): true,
		k.DS[:len(k.DS)-1] + "g": false, k.DS[:len(k.DS)-2]: false, "1" + k.DS: false, "": false,
		strings.Replace(k.DS, " 15 2 ", " 15 4 ", 1): false, strings.Replace(k.DS, " 15 2 ", " 13 2 ", 1): false,
	} {
		if rdata.IsDS("example.com.", farm.SignEd25519, public, ds) != want {
			t.Errorf("%s: got %v, want %v", ds, !want, want)
		}
	}
	if rdata.IsDS("example.com", farm.SignEd25519, other, k.DS) || rdata.IsDS("example.net", farm.SignEd25519, public, k.DS) {
		t.Error("it is that of another key")
	}
	rr, err := dns.NewRR("example.com. DNSKEY " + k.DNSKEY)
	if err != nil {
		t.Fatal(err)
	}
	long := rr.(*dns.DNSKEY).ToDS(dns.SHA384)
	if text := strings.TrimPrefix(long.String(), long.Hdr.String()); !rdata.IsDS("example.com", farm.SignEd25519, public, text) {
		t.Errorf("%s is not recognised", text)
	}
}

// Sections shows records of any type and content, e.g. those that miekg/dns does not read.
func TestUnpackReturnsAllRecordsOfASection(t *testing.T) {
	msg := []byte("\x00\x01\x84\x00\x00\x01\x00\x03\x00\x00\x00\x01" + "\x01a\x00\x00\x41\x00\x01")
	for _, r := range []struct {
		kind farm.RecordType
		data string
	}{{"HTTPS", "1 . ipv6hint=::ffff:192.0.2.1"}, {"TYPE65534", `\# 2 0102`}, {"A", "192.0.2.1"}} {
		data, err := rdata.Pack(r.kind, r.data, "")
		if err != nil {
			t.Fatal(err)
		}
		msg = append(msg, "\xc0\x0c"...)
		msg = binary.BigEndian.AppendUint16(msg, rdata.Code(r.kind))
		msg = append(msg, "\x00\x01\x00\x00\x00\x05"...)
		msg = append(binary.BigEndian.AppendUint16(msg, uint16(len(data))), data...)
	}
	whole := append(slices.Clone(msg), "\x00\x00\x29\x04\xd0\x00\x00\x00\x00\x00\x00"...) // EDNS
	answer, authority, additional, err := rdata.Sections(whole)
	want := []string{"a. 5 IN HTTPS 1 . ipv6hint=\"::ffff:192.0.2.1\"", `a. 5 CLASS1 TYPE65534 \# 2 0102`, "a. 5 IN A 192.0.2.1"}
	if err != nil || !slices.Equal(answer, want) || len(authority)+len(additional) > 0 {
		t.Errorf("%q, %q, %q, %v", answer, authority, additional, err)
	}
	for n := range whole {
		if _, _, _, err := rdata.Sections(whole[:n]); err == nil {
			t.Errorf("the first %d bytes are a message", n)
		}
	}
}
