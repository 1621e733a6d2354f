package l4farm_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/mgmt/validate/httpfarm"
	"github.com/sluicelb/sluice/mgmt/validate/l4farm"
	"github.com/sluicelb/sluice/mgmt/validate/validatetest"
)

func TestWordsOfAnL4FarmImplyOthers(t *testing.T) {
	for _, c := range []struct {
		vport   string
		updates []string
		want    string
	}{
		{`80`, nil, "80 tcp nat"},
		{`"443,80"`, nil, "80,443 tcp nat"},
		{`"*"`, nil, "* all nat"},
		{`"*"`, []string{`{"vport":"80"}`}, "80 tcp nat"},
		{`"*"`, []string{`{"vport":"80","protocol":"udp"}`}, "80 udp nat"},
		{`80`, []string{`{"vport":"*"}`}, "* all nat"},
		{`80`, []string{`{"protocol":"all"}`}, "* all nat"},
		{`80`, []string{`{"protocol":"all","vport":"*"}`}, "* all nat"},
		{`80`, []string{`{"protocol":"udp"}`, `{"vport":81}`}, "81 udp nat"},
		{`5060`, []string{`{"nattype":"dnat"}`, `{"protocol":"sip"}`}, "5060 sip nat"},
		{`5060`, []string{`{"protocol":"sip"}`, `{"protocol":"sip","vport":"5060"}`, `{"protocol":"udp","vport":"5061","nattype":"dsr"}`}, "5061 udp dsr"},
		{`"*"`, []string{`{"vport":"5060,5062","protocol":"sip"}`}, "5060,5062 sip nat"},
		{`"5060:5070,5080,5090:5099"`, []string{`{"protocol":"sip"}`}, "5060:5070,5080,5090:5099 sip nat"},
	} {
		f := validatetest.L4Farm(t, validatetest.L4Create(c.vport), c.updates...)
		if got := strings.Join([]string{f.L4.PortsText(), string(f.L4.Protocol), string(f.L4.NAT)}, " "); got != c.want || f.VPort != 0 || f.HTTP != nil {
			t.Errorf("vport %s, then %q: %s, want %s", c.vport, c.updates, got, c.want)
		}
	}
}

func TestWordsOfAnL4FarmThatContradictEachOtherAreRefused(t *testing.T) {
	for _, c := range []struct{ vport, before, body, want string }{
		{`80`, ``, `{"vport":"*","protocol":"udp"}`, "vport * means all ports of every protocol, which contradicts protocol udp; send protocol all, or ports"},
		{`80`, ``, `{"vport":"81","protocol":"all"}`, `vport "81" contradicts protocol all, which has every port; send vport *, or another protocol`},
		{`"*"`, ``, `{"protocol":"udp"}`, "protocol other than all needs ports, and vport is *; send vport with it"},
		{`5060`, `{"protocol":"sip"}`, `{"vport":"5061"}`, "vport cannot be changed while protocol is sip, it is 5060; send another protocol with it"},
		{`5060`, `{"protocol":"sip"}`, `{"vport":"*"}`, "vport cannot be changed while protocol is sip"},
		{`5060`, `{"protocol":"sip"}`, `{"nattype":"dnat"}`, "nattype must be nat with protocol sip"},
		{`5060`, ``, `{"protocol":"sip","nattype":"dsr"}`, "nattype must be nat with protocol sip"},
		{`80`, ``, `{"ttl":0}`, "ttl must be a number from 1 to"},
		{`80`, ``, `{"persistence":"cookie"}`, `persistence must be one of srcip, srcport`},
		{`80`, ``, `{"proxyprotocol_in":"optional"}`, "proxyprotocol_in is allowed only with trusted"},
		{`80`, ``, `{"log_prefix":"a\"b"}`, `log_prefix must be a text of letters`},
		{`80`, ``, `{"contimeout":0}`, `contimeout must be a number from 1`},
		{`80`, ``, `{"responses":65536}`, `responses must be a number from 0 to 65535`},
		{`80`, ``, `{"reqtimeout":5}`, `unknown field "reqtimeout"`},
	} {
		updates := []string{}
		if c.before != "" {
			updates = append(updates, c.before)
		}
		f := validatetest.L4Farm(t, validatetest.L4Create(c.vport), updates...)
		if err := validatetest.Apply(t, &l4farm.Update, c.body, f); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got  %v\nwant %s", c.body, err, c.want)
		}
	}
}

func TestPersistenceOfAnL4FarmIsTakenInEverySpelling(t *testing.T) {
	for word, want := range map[string]farm.L4Persistence{`"ip"`: farm.L4PersistSrc, `"srcip"`: farm.L4PersistSrc, `"none"`: "", `""`: "", `null`: "", `"srcmac"`: farm.L4PersistMAC} {
		f := validatetest.L4Farm(t, validatetest.L4Create("80"), `{"persistence":"dstip"}`, `{"persistence":`+word+`}`)
		if f.L4.Persist != want {
			t.Errorf("%s: %q", word, f.L4.Persist)
		}
	}
	f := validatetest.L4Farm(t, validatetest.L4Create("80"), `{"persistence":"srcip"}`)
	f.L4.Backends = []farm.Backend{{Host: "10.0.0.1", Sessions: []string{"10.0.0.9"}}}
	if err := validatetest.Apply(t, &l4farm.Update, `{"persistence":"ip"}`, f); err != nil || len(f.L4.Backends[0].Sessions) != 1 {
		t.Errorf("static sessions of the same kind: %v %q", err, f.L4.Backends[0].Sessions)
	}
	if err := validatetest.Apply(t, &l4farm.Update, `{"persistence":"srcport"}`, f); err != nil || f.L4.Backends[0].Sessions != nil {
		t.Errorf("static sessions of another kind: %v %q", err, f.L4.Backends[0].Sessions)
	}
	if l4farm.PersistenceText(farm.L4PersistSrc) != "ip" || l4farm.PersistenceText("") != "" || l4farm.PersistenceText(farm.L4PersistDst) != "dstip" {
		t.Error("persistence is shown otherwise")
	}
}

func TestNewFarmsAreOfTheProfileTheyAreCopiedFrom(t *testing.T) {
	f := validatetest.L4Farm(t, validatetest.L4Create(`"80,81"`), `{"protocol":"udp"}`)
	if err := validatetest.Apply(t, &httpfarm.Create, `{"farmname":"b","profile":"l4xnat","vip":"127.0.0.1","vport":82}`, f); err != nil || f.L4.PortsText() != "82" || f.L4.Protocol != farm.L4UDP {
		t.Errorf("%v %+v", err, f.L4)
	}
	if err := validatetest.Apply(t, &httpfarm.Create, `{"farmname":"b","profile":"http","vip":"127.0.0.1","vport":82}`, f); err == nil ||
		err.Error() != "profile must be l4xnat, that of the farm it is copied from" {
		t.Error(err)
	}
	var http farm.Farm
	if err := validatetest.Apply(t, &httpfarm.Create, `{"farmname":"b","profile":"http","vip":"127.0.0.1","vport":"82,83"}`, &http); err == nil ||
		err.Error() != `vport must be one port with profile http, got "82,83"` {
		t.Error(err)
	}
}

func TestANewFarmMayHaveItsProtocolAtOnce(t *testing.T) {
	for text, want := range map[string]string{
		`{"farmname":"a","profile":"l4xnat","vip":"127.0.0.1","vport":53,"protocol":"udp"}`:     "53 udp",
		`{"farmname":"a","profile":"l4xnat","vip":"127.0.0.1","vport":53,"protocol":"tcp_udp"}`: "53 tcp_udp",
		`{"farmname":"a","profile":"l4xnat","vip":"127.0.0.1","vport":53,"protocol":"udp,tcp"}`: "53 tcp_udp",
		`{"farmname":"a","profile":"l4xnat","vip":"127.0.0.1","vport":"*","protocol":"all"}`:    "* all",
		`{"farmname":"a","profile":"l4xnat","vip":"127.0.0.1","vport":5060,"protocol":"sip"}`:   "5060 sip",
		`{"farmname":"a","profile":"l4xnat","vip":"127.0.0.1","vport":"*","protocol":"udp"}`:    "vport * means all ports of every protocol",
		`{"farmname":"a","profile":"l4xnat","vip":"127.0.0.1","vport":53,"protocol":"all"}`:     `vport "53" contradicts protocol all`,
		`{"farmname":"a","profile":"http","vip":"127.0.0.1","vport":53,"protocol":"udp"}`:       "protocol is a field of l4xnat farms; send profile l4xnat with it",
	} {
		var f farm.Farm
		err := validatetest.Apply(t, &httpfarm.Create, text, &f)
		if err != nil && !strings.HasPrefix(err.Error(), want) || err == nil && f.L4.PortsText()+" "+string(f.L4.Protocol) != want {
			t.Errorf("%s: %v %+v", text, err, f.L4)
		}
	}
	sip := validatetest.L4Farm(t, validatetest.L4Create("5060"), `{"protocol":"sip"}`)
	if err := validatetest.Apply(t, &httpfarm.Create, validatetest.L4Create("5061"), sip); err != nil || sip.L4.PortsText() != "5061" || sip.L4.Protocol != farm.L4SIP {
		t.Errorf("a copy of a farm of protocol sip: %v %+v", err, sip.L4)
	}
}

func TestBackendsOfAnL4FarmHaveTheirOwnFields(t *testing.T) {
	var b farm.Backend
	if err := validatetest.Apply(t, &l4farm.BackendCreate, `{"ip":"10.0.0.1","port":"","weight":9,"priority":2,"max_conns":5,"server_names":["Shop.Example.","*.a.example"]}`, &b); err != nil {
		t.Fatal(err)
	}
	if b.Port != 0 || b.Weight != 9 || b.Priority != 2 || b.ConnLimit != 5 || strings.Join(b.ServerNames, " ") != "shop.example *.a.example" {
		t.Errorf("%+v", b)
	}
	if err := validatetest.Apply(t, &l4farm.BackendUpdate, `{"port":81,"weight":null,"priority":"","max_conns":null,"server_names":null}`, &b); err != nil {
		t.Fatal(err)
	}
	if b.Port != 81 || b.Weight != 0 || b.Priority != 0 || b.ConnLimit != 0 || b.ServerNames != nil {
		t.Errorf("%+v", b)
	}
	names := make([]string, 65)
	for i := range names {
		names[i] = fmt.Sprintf(`"n%d.example.org"`, i)
	}
	if err := validatetest.Apply(t, &l4farm.BackendCreate, `{"ip":"10.0.0.1","server_names":[`+strings.Join(names[:64], ",")+`]}`, &b); err != nil || len(b.ServerNames) != 64 {
		t.Errorf("as many names as a backend may have: %v", err)
	}
	for text, want := range map[string]string{
		`{"ip":"10.0.0.1","server_names":[` + strings.Join(names, ",") + `]}`: "64",
		`{"port":80}`: "ip is required", `{"ip":"10.0.0.1","port":0}`: "port must be a number from 1 to 65535, got 0", `{"ip":"10.0.0.1","weight":10}`: "weight must be a number from 1 to 9, got 10",
		`{"ip":"10.0.0.1","timeout":1}`: `unknown field "timeout"`, `{"ip":"10.0.0.1","contimeout":1}`: `unknown field "contimeout"`, `{"ip":"10.0.0.1","server_names":["*.example"]}`: "names directly below a top level",
		`{"ip":"10.0.0.1","server_names":["10.0.0.1"]}`: "clients send no addresses as names", `{"ip":"10.0.0.1","server_names":["a b"]}`: "it is no host name",
		`{"ip":"10.0.0.1","server_names":["a.example","A.example"]}`: "must not hold the same twice", `{"ip":"255.255.255.255"}`: "it is the broadcast address",
		`{"ip":"224.0.0.1"}`: "it is a multicast address", `{"ip":"0.0.0.0"}`: "it is the unspecified address",
	} {
		if err := validatetest.Apply(t, &l4farm.BackendCreate, text, &farm.Backend{}); err == nil ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %s", text, err, want)
		}
	}
}
