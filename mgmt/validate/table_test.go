package validate_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"reflect"
	"strings"
	"testing"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/mgmt/validate/field"
	"github.com/sluicelb/sluice/mgmt/validate/httpfarm"
	"github.com/sluicelb/sluice/mgmt/validate/l4farm"
	"github.com/sluicelb/sluice/mgmt/validate/profile"
	"github.com/sluicelb/sluice/mgmt/validate/suggest"
	"github.com/sluicelb/sluice/mgmt/validate/validatetest"
)

func TestABodySetsWhatItHolds(t *testing.T) {
	f := farm.Farm{Name: "old", HTTP: farm.DefaultHTTP()}
	f.HTTP.Error503 = "x"
	values, err := httpfarm.Update.Decode(`farm "old"`, validatetest.Body(t, `{"newfarmname":"new","vport":"8080","contimeout":5,"error503":"","httpverb":"extendedHTTP","listener":"http"}`))
	if err != nil {
		t.Fatal(err)
	}
	if err := values.Apply(&f); err != nil {
		t.Fatal(err)
	}
	if f.Name != "new" || f.VPort != 8080 || f.HTTP.ConnectTimeout != 5 || f.HTTP.Error503 != "" || f.HTTP.Verbs != farm.VerbsExtended || f.HTTP.ResponseTimeout != 45 {
		t.Errorf("farm %+v %+v", f, f.HTTP)
	}
	want := map[string]any{"newfarmname": "new", "vport": int64(8080), "contimeout": int64(5), "error503": "", "httpverb": "extendedHTTP", "listener": "http"}
	if got := values.Sent(); !reflect.DeepEqual(got, want) {
		t.Errorf("sent %v, want %v", got, want)
	}
	if !values.Has("vport") || values.Has("vip") || values.Get("vport").Number() != 8080 || !values.Get("vip").Null() || values.Len() != 6 {
		t.Error("Has and Get disagree with the body")
	}
}

func TestNullResetsWhatCanBeUnset(t *testing.T) {
	b := farm.Backend{Host: "10.0.0.1", Port: 80, Weight: 5, Priority: 5, ConnLimit: 5, Timeout: 5, Alias: "x", Source: netip.MustParseAddr("10.0.0.2"), Mark: 7}
	values, err := httpfarm.BackendUpdate.Decode("", validatetest.Body(t, `{"source":null,"mark":"","weight":null,"priority":"","connection_limit":null,"timeout":null,"alias":null}`))
	if err != nil {
		t.Fatal(err)
	}
	if err := values.Apply(&b); err != nil || !reflect.DeepEqual(b, farm.Backend{Host: "10.0.0.1", Port: 80}) {
		t.Errorf("backend %+v", b)
	}
	for _, no := range []string{`{"port":null}`, `{"port":""}`, `{"ip":null}`} {
		if _, err := httpfarm.BackendUpdate.Decode("", validatetest.Body(t, no)); err == nil {
			t.Errorf("%s was accepted", no)
		}
	}
}

func TestChangingPersistenceDropsWhatBelongedToTheOldOne(t *testing.T) {
	s := farm.Service{Persistence: "COOKIE", SessionID: "sid", TTL: 60, Redirect: "http://x", RedirectCode: 301, RedirectType: "append"}
	for _, c := range []struct {
		body string
		want farm.Service
	}{
		{`{"persistence":"HEADER","sessionid":"X-Id"}`, farm.Service{Persistence: "HEADER", SessionID: "X-Id", TTL: 60, Redirect: "http://x", RedirectCode: 301, RedirectType: "append"}},
		{`{"persistence":"IP"}`, farm.Service{Persistence: "IP", TTL: 60, Redirect: "http://x", RedirectCode: 301, RedirectType: "append"}},
		{`{"persistence":"NONE","redirect":""}`, farm.Service{}},
		{`{"persistence":"","redirect":""}`, farm.Service{}},
		{`{"persistence":null,"redirect":null}`, farm.Service{}},
	} {
		values, err := httpfarm.ServiceUpdate.Decode("", validatetest.Body(t, c.body))
		if err != nil {
			t.Fatal(err)
		}
		got := s
		if err := values.Apply(&got); err != nil || !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s: %+v", c.body, got)
		}
	}
}

func TestBodiesAreRefusedInTheOrderOfTheContract(t *testing.T) {
	for _, c := range []struct{ body, field, want string }{
		{`{"profil":"http","vport":70000}`, "farmname", `farmname is required: it must be a name of letters, digits and hyphens (not the first), at most 64`},
		{`{"farmname":"a b","profile":"http","vip":"127.0.0.1","vport":70000,"vprt":1}`, "vprt", `unknown field "vprt" (did you mean "vport"?)`},
		{`{"farmname":"a b","profile":"http","vip":"127.0.0.1","vport":70000}`, "farmname", `farmname must be a name of letters`},
		{`{"farmname":"a","profile":"http","vip":"127.0.0.1","vport":70000}`, "vport", `vport must be a port from 1 to 65535, for profile l4xnat also a list of ports and ranges as 80,443,8000:8010, or * for all, got "70000": port 70000 is not from 1 to 65535`},
		{`{"farmname":"a","profile":"http","vip":"127.0.0.1","vport":80.5}`, "vport", `got "80.5": "80.5" is no port`},
		{`{"farmname":"a","profile":"http","vip":"127.0.0.1","vport":"80a"}`, "vport", `got "80a"`},
		{`{"farmname":"a","profile":"http","vip":"127.0.0.1","vport":true}`, "vport", `got true`},
		{`{"farmname":"a","profile":"http","vip":"127.0.0.1","vport":1e99}`, "vport", ` is no port`},
		{`{"farmname":["a"],"profile":"http","vip":"127.0.0.1","vport":80}`, "farmname", `got a list`},
		{`{"farmname":{"a":1},"profile":"http","vip":"127.0.0.1","vport":80}`, "farmname", `got an object`},
		{`{"farmname":"a","profile":"none","vip":"127.0.0.1","vport":80}`, "profile", `profile must be one of ` + profileWords + `, got "none"`},
		{`{"farmname":"a","profile":"http","vip":"localhost","vport":80}`, "vip", `vip must be an IPv4 or IPv6 address, got "localhost": it is no address`},
	} {
		_, err := httpfarm.Create.Decode("", validatetest.Body(t, c.body))
		var broken *field.Error
		if !errors.As(err, &broken) || broken.Field != c.field || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s\ngot  %v\nwant %s", c.body, err, c.want)
		}
	}
	for action, want := range map[string]string{`{}`: "action is required", `{"action":"pause"}`: "action must be one of start, stop, restart", `{"action":"stop"}`: ""} {
		if _, err := profile.FarmAction.Decode("", validatetest.Body(t, action)); (err != nil) != (want != "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", action, err)
		}
	}
}

func TestTruthIsABooleanOrItsName(t *testing.T) {
	for text, ok := range map[string]bool{`false`: true, `"false"`: true, `true`: true, `"true"`: true, `"no"`: false, `0`: false, `null`: false, `["true"]`: false} {
		_, err := httpfarm.ServiceUpdate.Decode("", validatetest.Body(t, `{"httpsb":`+text+`}`))
		if (err == nil) != ok {
			t.Errorf("%s: %v", text, err)
		}
	}
}

func TestMaintenanceDrainsUnlessToldToCut(t *testing.T) {
	for text, want := range map[string]farm.Maintenance{
		`{"action":"maintenance"}`:                "drain",
		`{"action":"maintenance","mode":"cut"}`:   "cut",
		`{"action":"maintenance","mode":"drain"}`: "drain",
		`{"action":"up"}`:                         "",
		`{"action":"up","mode":"cut"}`:            "",
	} {
		b := farm.Backend{Maintenance: "cut"}
		values, err := profile.Maintenance.Decode("", validatetest.Body(t, text))
		if err != nil {
			t.Fatal(err)
		}
		if err := values.Apply(&b); err != nil || b.Maintenance != want {
			t.Errorf("%s: %q", text, b.Maintenance)
		}
	}
	if _, err := profile.Maintenance.Decode("", validatetest.Body(t, `{"mode":"cut"}`)); err == nil {
		t.Error("a mode without an action was accepted")
	}
}

func TestAnotherHostForgetsTheAddress(t *testing.T) {
	b := farm.Backend{}
	for _, c := range []struct{ host, addr string }{{"10.0.0.1", "10.0.0.1"}, {"db.example", "invalid IP"}, {"2001:DB8::0:1", "2001:db8::1"}} {
		values, err := httpfarm.BackendUpdate.Decode("", map[string]any{"ip": c.host})
		if err != nil {
			t.Fatal(err)
		}
		if err := values.Apply(&b); err != nil || b.Addr.String() != c.addr {
			t.Errorf("%s: %s", c.host, b.Addr)
		}
	}
}

func TestTheHelpBodyIsBuiltFromTheTables(t *testing.T) {
	params := map[string]field.Param{}
	for _, p := range httpfarm.BackendCreate.Params() {
		params[p.Name] = p
		if p.Description == "" {
			t.Errorf("%s has no description", p.Name)
		}
	}
	if p := params["resolve"]; !reflect.DeepEqual(p.PossibleValues, []string{"first", "all", "srv"}) {
		t.Errorf("resolve %+v", p)
	}
	if p := params["weight"]; p.Interval != "1,9" || p.Format != "integer" || p.Options != nil {
		t.Errorf("weight %+v", p)
	}
	if p := params["connection_limit"]; p.Interval != "0," {
		t.Errorf("connection_limit %+v", p)
	}
	if p := params["port"]; !reflect.DeepEqual(p.Options, []string{"non_blank", "required"}) {
		t.Errorf("port %+v", p)
	}
	for _, p := range httpfarm.Update.Params() {
		if p.Description == "" || (p.Name == "httpverb" && len(p.PossibleValues) != 7) {
			t.Errorf("%+v", p)
		}
	}
}

func TestUnknownNamesAreAnsweredWithTheNearest(t *testing.T) {
	few := []string{"vport", "vip", "contimeout", "restimeout"}
	many := append(few, "certificates", "weight", "priority", "alias", "logs", "mark")
	for _, c := range []struct {
		word  string
		known []string
		want  string
	}{
		{"vprot", few, ` (did you mean "vport"?); allowed are vport, vip, contimeout, restimeout`},
		{"xyz", few, `; allowed are vport, vip, contimeout, restimeout`},
		{"", few, `; allowed are vport, vip, contimeout, restimeout`},
		{"vprot", many, ` (did you mean "vport"?)`},
		{"cert", many, ` (did you mean "certificates"?)`},
		{"timeout", many, ` (did you mean "contimeout" or "restimeout"?)`},
	} {
		if got := suggest.For(c.word, c.known); got != c.want {
			t.Errorf("%q: %s\nwant %s", c.word, got, c.want)
		}
	}
	if got := suggest.For(strings.Repeat("x", 1<<20), many); len(got) > 100 {
		t.Errorf("a long word gives %d bytes", len(got))
	}
}

// A list may be a single text, unless its items can contain commas.
func TestListsMayBeWrittenWithCommas(t *testing.T) {
	for _, c := range []struct{ field, sent, want string }{
		{"compression", `"br, zstd"`, "[br zstd]"},
		{"compression", `["br,zstd","gzip"]`, "[br zstd gzip]"},
		{"compression_types", `"text/html,text/css"`, "[text/html text/css]"},
		{"retry_on", `"503,reset"`, "[503 reset]"},
		{"retry_on", `"503,,reset"`, "item 1 is blank"},
		{"headrequire", `"X: a{1,2}"`, "[X: a{1,2}]"},
		{"auth_users", `"ann:one,two:secret"`, "[ann:***]"},
		{"sessions", `"a,b"`, "[a,b]"},
	} {
		var got string
		switch v, err := decodeOne(t, c.field, c.sent); {
		case err != nil:
			got = err.Error()
		default:
			got = fmt.Sprint(v)
		}
		if !strings.Contains(got, c.want) {
			t.Errorf("%s %s is %s, want %s", c.field, c.sent, got, c.want)
		}
	}
}

// decodeOne decodes one field of a service or backend and returns it in response notation.
func decodeOne(t *testing.T, field, sent string) (any, error) {
	t.Helper()
	var raw any
	if err := json.Unmarshal([]byte(sent), &raw); err != nil {
		t.Fatal(err)
	}
	body := map[string]any{field: raw}
	if field == "sessions" {
		v, broken := httpfarm.BackendDocument.DecodeAll("", body)
		if !v.Has(field) {
			return nil, broken[0]
		}
		return v.Sent()[field], nil
	}
	v, err := httpfarm.ServiceUpdate.Decode("", body)
	return v.Sent()[field], err
}

// FuzzBody decodes arbitrary JSON with the tables. Nothing may panic, and accepted values
// must satisfy the rules of single fields.
func FuzzBody(f *testing.F) {
	for _, seed := range []string{`{}`, `{"farmname":"a","profile":"http","vip":"::1","vport":"80"}`, `{"ip":"db.example","port":1,"weight":null}`,
		`{"vhost":"(a|b)+","urlp":"(?i)x","redirect":"https://x/","persistence":"NONE","ttl":"7"}`, `{"vport":1e400}`, `{"ip":[[]],"port":{"a":null}}`, `{"action":"up"}`,
		`{"listener":"https","certificates":["a",1],"cipherc":"AES","ciphers":"customsecurity","trusted":["::/0"],"ignore_100_continue":true}`,
		`{"cookieinsert":true,"cookiename":"a","headrequire":"x","httpsb":true,"httpsb_ca":"b","sts_timeout":1}`,
		`{"farmname":"a","profile":"l4xnat","vip":"::1","vport":"80,8000:8010"}`, `{"vport":"*","protocol":"udp","persistence":"ip","responses":0,"proxyprotocol_in":"required","trusted":"::/0"}`,
		`{"ip":"10.0.0.1","port":"","max_conns":null,"server_names":["*.A.example."]}`, `{"header":"X-A: b","match":"(a)","replace":"$1"}`, `{"pattern":"^(?i)host:","replace":"/$9","last":true}`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		var in map[string]any
		if json.Unmarshal(raw, &in) != nil {
			return
		}
		decode(t, &httpfarm.Create, in)
		decode(t, &httpfarm.Update, in)
		decode(t, &l4farm.Update, in)
		decode(t, &l4farm.Document, in)
		decode(t, &l4farm.BackendUpdate, in)
		decode(t, &l4farm.BackendDocument, in)
		decode(t, &httpfarm.ServiceUpdate, in)
		decode(t, &httpfarm.BackendUpdate, in)
		decode(t, &profile.Maintenance, in)
		decode(t, &httpfarm.AddRequest.Rule, in)
		decode(t, &httpfarm.RemoveRequest.Rule, in)
		decode(t, &httpfarm.ReplaceRequest.Rule, in)
		decode(t, &httpfarm.Rewrites.Rule, in)
	})
}

func decode[T any](t *testing.T, table *field.Table[T], in map[string]any) {
	values, err := table.Decode("p", in)
	if err != nil {
		var broken *field.Error
		if !errors.As(err, &broken) || len(err.Error()) > 4096 && len(broken.Field) < 64 {
			t.Errorf("error %v", err)
		}
		return
	}
	var object T
	if err := values.Apply(&object); err != nil {
		var broken *field.Error
		if !errors.As(err, &broken) || broken.Field == "" {
			t.Errorf("refused with %v", err)
		}
	}
	if again, err := table.Decode("p", values.Sent()); err != nil || !reflect.DeepEqual(again.Sent(), values.Sent()) {
		t.Errorf("%v was accepted, yet its normal form %v is not: %v", in, values.Sent(), err)
	}
}
