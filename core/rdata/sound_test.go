package rdata_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/core/rdata"
)

// A secondary that rejects one record rejects the zone. loads is the behaviour of BIND
// 9.18, which is verified if it is installed.
func TestDataRefusedByOtherServersIsRefused(t *testing.T) {
	bind, _ := exec.LookPath("named-checkzone")
	for _, c := range []struct {
		loads bool
		kind  farm.RecordType
		data  string
	}{
		{true, "HTTPS", `1 . alpn=h2`},
		{false, "HTTPS", `1 . no-default-alpn`},
		{false, "HTTPS", `1 . mandatory=alpn`},
		{true, "HTTPS", `1 . mandatory=alpn alpn=h2`},
		{false, "HTTPS", `1 . mandatory=mandatory alpn=h2`},
		{false, "HTTPS", `1 . mandatory=alpn,alpn alpn=h2`},
		{false, "HTTPS", `1 . alpn=h2 alpn=h3`},
		{true, "HTTPS", `0 . alpn=h2`},
		{true, "HTTPS", `0 other`},
		{false, "HTTPS", `1 . ipv4hint=`},
		{false, "HTTPS", `1 . alpn=`},
		{false, "HTTPS", `1 . alpn=""`},
		{false, "HTTPS", `1 . port=70000`},
		{true, "HTTPS", `1 . key667=hello`},
		{true, "HTTPS", `1 . ech=AAAA`},
		{true, "HTTPS", `1 . dohpath=/dns-query{?dns}`},
		{true, "SVCB", `1 . dohpath=/dns-query{?dns}`},
		{false, "SVCB", `1 . dohpath=/dns-query`},
		{false, "SVCB", `1 . alpn=h2 dohpath=/dns-query`},
		{false, "HTTPS", `1 . no-default-alpn=x alpn=h2`},
		{true, "HTTPS", `1 . no-default-alpn alpn=h2`},
		{false, "HTTPS", `1 . key2`},
		{false, "HTTPS", `1 . key0=\000\001`},
		{false, "HTTPS", `1 . key4=x`},
		{false, "HTTPS", `1 . key3=x`},
		{false, "HTTPS", `1 . key1=x`},
		{false, "HTTPS", `1 . mandatory= alpn=h2`},
		{false, "HTTPS", `1 . alpn="h2,"`},
		{true, "HTTPS", `1 . ipv4hint=192.0.2.1,192.0.2.2`},
		{true, "CAA", `0 issue "ca.example"`},
		{false, "CAA", `0 is-sue "ca.example"`},
		{false, "CAA", `0 issue_x "ca.example"`},
		{false, "CAA", `0 "" "x"`},
		{false, "CAA", `256 issue "x"`},
		{false, "CAA", `0 iss.ue "x"`},
		{true, "CAA", `128 ISSUE "x"`},
		{true, "NAPTR", `100 10 "S" "SIP+D2U" "" _sip._udp`},
		{true, "NAPTR", `100 10 "U" "E2U+sip" "!^.*$!sip:info@example.com!" .`},
		{false, "NAPTR", `100 10 "U" "E2U+sip" "!^.*$!sip:info@example.com" .`},
		{false, "NAPTR", `100 10 "U" "E2U+sip" "!(!x!" .`},
		{false, "NAPTR", `100 10 "U" "E2U+sip" "!a!\\1!" .`},
		{true, "NAPTR", `100 10 "U" "E2U+sip" "!(a)!\\1!" .`},
		{false, "NAPTR", `100 10 "U" "E2U+sip" "abc" .`},
		{false, "NAPTR", `100 10 "U" "E2U+sip" "!a!b!x" .`},
		{true, "NAPTR", `100 10 "U" "E2U+sip" "!a!b!i" .`},
		{true, "NAPTR", `100 10 "U-" "E2U+sip" "!a!b!i" .`},
		{false, "NAPTR", `100 10 "U" "E2U+sip" "1a1b1" .`},
		{false, "NAPTR", `100 10 "U" "E2U+sip" "!a{2,1}!b!" .`},
		{false, "NAPTR", `100 10 "U" "E2U+sip" "!a**!b!" .`},
		{false, "NAPTR", `100 10 "U" "E2U+sip" "![b-a]!b!" .`},
		{true, "NAPTR", `100 10 "U" "E2U+sip" "![[:digit:]]!b!" .`},
		{false, "NAPTR", `100 10 "U" "E2U+sip" "![[:digi:]]!b!" .`},
	} {
		if _, err := rdata.Check(c.kind, c.data, "example.com"); err == nil != c.loads {
			t.Errorf("%s %s: %v", c.kind, c.data, err)
		}
		if bind == "" {
			continue
		}
		file := filepath.Join(t.TempDir(), "zone")
		zone := "$TTL 60\n@ SOA ns h 1 2 3 4 5\n@ NS ns\nns A 192.0.2.1\nx " + string(c.kind) + " " + c.data + "\n"
		if err := os.WriteFile(file, []byte(zone), 0o600); err != nil {
			t.Fatal(err)
		}
		if out, err := exec.Command(bind, "-k", "ignore", "example.com", file).CombinedOutput(); err == nil != c.loads {
			t.Errorf("BIND: %s %s: %s", c.kind, c.data, out)
		}
	}
}
