package settings_test

import (
	"encoding/json"
	"errors"
	"net/netip"
	"reflect"
	"strings"
	"testing"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/sysnet/settings"
)

func TestRequestsRoundTrip(t *testing.T) {
	for _, q := range []settings.Request{dns("192.0.2.53", ""), ntp("ntp.example"), ntp("2001:db8::1"), ssh(22, "192.0.2.1", "::"), snmp("letmein"), {Kind: settings.SNMP}} {
		b, err := json.Marshal(q)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := settings.ReadRequest(strings.NewReader(string(b)), q.Kind); err != nil || !reflect.DeepEqual(got, q) {
			t.Errorf("%s: got %v\n%+v, want %+v", b, err, got, q)
		}
	}
}

// mgmt may be compromised: a request must not inject lines into a configuration file.
func TestInvalidRequestsAreRefused(t *testing.T) {
	many := ssh(22)
	for range farm.MaxSSHAddresses + 1 {
		many.SSH.Listen = append(many.SSH.Listen, addr("192.0.2.1"))
	}
	zone, mapped := dns("fe80::1%eth0", ""), dns("::ffff:192.0.2.1", "")
	line := snmp("a\nrwcommunity b")
	scopeless := snmp("a")
	scopeless.SNMP.Scope = netip.Prefix{}
	for name, q := range map[string]settings.Request{
		"another line": ntp("a\nserver b"), "a blank": ntp("a b"), "an option": ntp("-f"), "many addresses": many, "a zone": zone, "a mapped address": mapped,
		"a line in a community": line, "no community": snmp(""), "a long community": snmp(strings.Repeat("a", 33)), "no scope": scopeless, "another kind": {Kind: "sudo"},
	} {
		b, _ := json.Marshal(q)
		if _, err := settings.ReadRequest(strings.NewReader(string(b)), q.Kind); !errors.Is(err, settings.ErrRequest) {
			t.Errorf("%s: %v", name, err)
		}
	}
	for name, text := range map[string]string{
		"another kind": `{"kind":"ssh"}`, "an unknown field": `{"kind":"dns","file":"/etc/shadow"}`, "no JSON": "x", "nothing": "", "too long": `{"kind":"dns",` + strings.Repeat(" ", settings.MaxRequest) + `}`,
	} {
		if _, err := settings.ReadRequest(strings.NewReader(text), settings.DNS); !errors.Is(err, settings.ErrRequest) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func FuzzReadRequest(f *testing.F) {
	for _, q := range []settings.Request{dns("192.0.2.53", ""), ntp("ntp.example"), ssh(22, "192.0.2.1"), snmp("letmein")} {
		b, _ := json.Marshal(q)
		f.Add(string(b), string(q.Kind))
	}
	f.Fuzz(func(t *testing.T, text, kind string) {
		q, err := settings.ReadRequest(strings.NewReader(text), settings.Kind(kind))
		if err != nil {
			return
		}
		if strings.ContainsAny(q.NTP.Server, " \n\r#\"'\\") || q.SNMP.On && strings.ContainsAny(q.SNMP.Community, " \n\r#\"'\\") {
			t.Errorf("%+v", q)
		}
	})
}
