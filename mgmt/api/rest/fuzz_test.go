package rest

import (
	"bytes"
	"encoding/json"
	"testing"
	"unicode/utf8"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/mgmt/validate/field"
	"github.com/sluicelb/sluice/mgmt/validate/httpfarm"
	"github.com/sluicelb/sluice/mgmt/validate/l4farm"
	"github.com/sluicelb/sluice/mgmt/validate/profile"
)

// FuzzBodies sends arbitrary bytes to the decoder of every kind of body. None may panic. An
// accepted body must be one JSON object for the standard library too, and its values must
// be encodable.
func FuzzBodies(f *testing.F) {
	for _, seed := range []string{
		`{}`, `{"farmname":"shop","profile":"http","vip":"192.0.2.1","vport":80}`, `{"farmname":"a","copy_from":"b"}`,
		`{"farmname":"dns","profile":"l4xnat","vip":"::1","vport":"53,5353,8000:8010","protocol":"udp","nattype":"dnat","persistence":"ip","responses":0,"datapath":"kernel"}`, `{"ip":"10.0.0.1","port":null,"max_conns":7,"server_names":["*.a.test"]}`,
		`{"newfarmname":"x","contimeout":"5","error503":"<b>\u0000"}`, `{"action":"start"}`, `{"id":"web"}`,
		`{"vhost":"a.*","urlp":"^/x(","redirect":"https://e","redirect_code":301,"persistence":"COOKIE","ttl":1e3}`,
		`{"position":-1}`, `{"ip":"::1%eth0","port":"080","weight":null,"priority":9.0,"connection_limit":18446744073709551616}`, `{"connection_limit":184467440737095e1616,"vport":1e999}`,
		`{"action":"maintenance","mode":"cut"}`, `{"header":"X-A: \u0009b"}`, `{"header":"(?i)^x","match":"(a)(b)","replace":"$2\u00fc"}`, `{"pattern":"^/(a)","replace":"/$1","last":true}`,
		`{"listener":"https","certificates":["a","*.b.pem"],"ciphers":"customsecurity","cipherc":"ECDHE+AES:!aNULL","trusted":"::/0","ignore_100_continue":2}`,
		`{"cookieinsert":true,"cookiepath":"/a;","headrequire":["x","(?P<y>z)"],"httpsb":"true","httpsb_verify":"ca","leastresp":true,"routingpolicy":"ROUND_ROBIN"}`, `{"a":1,"a":2}`, `[1]`, `{"a":{"b":[]}}`, `{"a":1}{"b":2}`, "\xff", `{"\ud800":1}`, `{"":null}`, ``, ` `, `nul`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		body, err := DecodeObject(raw)
		if err != nil {
			if r := RejectionOf(err, false); r.Status != 400 || r.Message == "" || !utf8.ValidString(r.Message) {
				t.Fatalf("refused with %d %q", r.Status, r.Message)
			}
			return
		}
		if len(body) > 0 {
			var same map[string]any
			dec := json.NewDecoder(bytes.NewReader(raw))
			dec.UseNumber() // like DecodeObject: 1e999 is a number, although not a float64
			if err := dec.Decode(&same); err != nil || len(same) != len(body) {
				t.Fatalf("we read %v, the standard library %v (%v)", body, same, err)
			}
		}
		try(t, &httpfarm.Create, body, farm.Farm{})
		try(t, &l4farm.Create, body, farm.Farm{})
		try(t, &httpfarm.Update, body, farm.Farm{})
		try(t, &l4farm.Update, body, farm.Farm{})
		try(t, &l4farm.BackendCreate, body, farm.Backend{})
		try(t, &l4farm.BackendUpdate, body, farm.Backend{})
		try(t, &profile.FarmAction, body, farm.Farm{})
		try(t, &httpfarm.ServiceCreate, body, farm.Service{})
		try(t, &httpfarm.ServiceUpdate, body, farm.Service{})
		try(t, &httpfarm.ServiceMove, body, farm.Service{})
		try(t, &httpfarm.BackendCreate, body, farm.Backend{})
		try(t, &httpfarm.BackendUpdate, body, farm.Backend{})
		try(t, &profile.Maintenance, body, farm.Backend{})
		try(t, &httpfarm.AddRequest.Rule, body, farm.HeaderAdd{})
		try(t, &httpfarm.RemoveRequest.Rule, body, farm.HeaderRemove{})
		try(t, &httpfarm.ReplaceRequest.Rule, body, farm.HeaderReplace{})
		try(t, &httpfarm.Rewrites.Rule, body, farm.URLRewrite{})
		_ = checkNames(sample{}, body)
	})
}

// sample is a small body outside of tables.
type sample struct{}

func (sample) Params() []field.Param {
	return []field.Param{Needed("id", "What is meant."), Optional("comment", "Why.")}
}

func try[T any](t *testing.T, table *field.Table[T], body map[string]any, to T) {
	values, err := table.Decode("", body)
	if err != nil {
		if r := RejectionOf(err, false); r.Status != 400 || len(r.Message) > 4096 {
			t.Fatalf("refused with %d and %d bytes", r.Status, len(r.Message))
		}
		return
	}
	if err := values.Apply(&to); err != nil && RejectionOf(err, false).Status != 400 {
		t.Fatalf("refused with %v", err)
	}
	if _, err := Encode(Changed{Params: values.Sent()}); err != nil {
		t.Fatalf("no answer: %v", err)
	}
}
