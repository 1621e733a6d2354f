package api_test

import (
	"maps"
	"testing"
)

func TestAListenerSpeaksTLSAndSaysSo(t *testing.T) {
	a := newAppliance(t)
	a.shop(1)
	a.certificate("shop.pem", "shop.example")
	a.certificate("*.example.com.pem", "*.example.com")
	r := a.must(200, "GET", "/farms/shop", "")
	for _, name := range []string{"ciphers", "cipherc", "disable_sslv2", "disable_tlsv1", "ecdhcurve", "client_auth", "nosslredirect"} {
		r.want(t, "params."+name, nil) // an http farm can be sent back as read
	}
	a.do("PUT", "/farms/shop", `{"ciphers":"highsecurity"}`).refused(t, 400, "ciphers", "listener https")
	a.do("PUT", "/farms/shop", `{"listener":"http","certname":"a.pem"}`).refused(t, 400, "certname", "listener https")
	r = a.must(200, "PUT", "/farms/shop", `{"listener":"https"}`)
	r.want(t, "params.listener", "https")
	r = a.must(200, "GET", "/farms/shop", "")
	for name, want := range map[string]any{
		"listener": "https", "profile": "https", "certlist.0.file": "api.pem", "certlist.0.id": 0, "certificates.0": "api.pem", "ciphers": "all", "cipherc": "",
		"disable_sslv2": "true", "disable_sslv3": "true", "disable_tlsv1": "true", "disable_tlsv1_1": "true", "disable_tlsv1_2": "false", "disable_tlsv1_3": "false",
		"ecdhcurve": "", "disable_http2": "false", "client_auth": "", "client_ca": "", "nosslredirect": "", "nosslredirect_code": nil, "errornossl": "",
	} {
		r.want(t, "params."+name, want)
	}
	a.must(200, "GET", "/farms", "").want(t, "params.0.profile", "https")
	a.must(200, "GET", "/farms/modules/summary", "").want(t, "params.lslb.0.profile", "https")
	a.must(200, "GET", "/stats/farms?profile=https", "").want(t, "farms.0.farmname", "shop")
	a.must(200, "GET", "/stats/farms?profile=http", "").want(t, "farms.0", nil)

	r = a.must(200, "PUT", "/farms/shop", `{"certificates":["shop","*.example.com.pem"],"nosslredirect":"https://shop.example/","disable_tlsv1_2":"true"}`)
	r.want(t, "params.certificates.0", "shop.pem")
	r = a.must(200, "GET", "/farms/shop", "")
	r.want(t, "params.certlist.1.file", "*.example.com.pem")
	r.want(t, "params.certlist.1.id", 1)
	r.want(t, "params.nosslredirect_code", 302)
	a.do("PUT", "/farms/shop", `{"disable_tlsv1_3":true}`).refused(t, 400, "disable_tlsv1_2", "disable_tlsv1_3")
	a.must(200, "PUT", "/farms/shop", `{"listener":"http"}`)
	a.must(200, "GET", "/farms/shop", "").want(t, "params.ciphers", nil)
}

// A farm can be sent back exactly as GET shows it, which changes nothing.
func TestAFarmCanBeSentBackAsItCame(t *testing.T) {
	for _, listener := range []string{"http", "https"} {
		a := newAppliance(t)
		a.shop(1)
		a.must(200, "PUT", "/farms/shop", `{"listener":"`+listener+`","trusted":"10.0.0.0/8","ignore_100_continue":"silent"}`)
		before, _ := a.applier.Current()
		params := a.must(200, "GET", "/farms/shop", "").body["params"].(map[string]any)
		for _, name := range []string{"farmname", "profile", "status", "configured", "maintenance", "actual", "certlist"} {
			delete(params, name) // shown, but changed elsewhere
		}
		a.must(200, "PUT", "/farms/shop", quoteAny(params))
		if after, _ := a.applier.Current(); after != before {
			t.Errorf("%s: the configuration was changed", listener)
		}
	}
}

func TestAServiceShowsItsOptionsAndCanBeSentBackAsItCame(t *testing.T) {
	for _, change := range []string{`{"vhost":"a"}`,
		`{"httpsb":"true","httpsb_verify":"ca","httpsb_ca":"own","cookieinsert":true,"cookiettl":60,"sts_status":true,"pinnedconnection":1,"headrequire":["^X: 1"],"leastresp":true,"redirect":"https://x"}`,
		`{"persistence":"COOKIE","sessionid":"SID","headdeny":"^Y:","rewritelocation":"disabled","ignorecase":"true","sts_status":true,"sts_timeout":5}`} {
		a := newAppliance(t)
		a.shop(1)
		a.authorities("own")
		a.must(200, "PUT", "/farms/shop", `{"listener":"https"}`)
		a.must(200, "PUT", web, change)
		before := a.must(200, "GET", web, "")
		view := maps.Clone(before.body["services"].(map[string]any))
		for _, name := range []string{"id", "configured", "maintenance", "actual", "backends"} {
			delete(view, name)
		}
		a.must(200, "PUT", web, quoteAny(view))
		if after := a.must(200, "GET", web, ""); after.raw != before.raw {
			t.Errorf("%s: after the change\n%s\nwant\n%s", change, after.raw, before.raw)
		}
	}
	a := newAppliance(t)
	a.shop(0)
	r := a.must(200, "GET", web, "")
	for name, want := range map[string]any{"httpsb": "false", "httpsb_verify": nil, "cookieinsert": "false", "cookiename": nil, "sts_status": "false", "sts_timeout": nil,
		"pinnedconnection": 0, "headrequire.0": nil, "rewritelocation": "", "ignorecase": "false", "leastresp": "false"} {
		r.want(t, "services."+name, want)
	}
	a.do("PUT", web, `{"sts_status":"true"}`).refused(t, 400, "sts_status", "listener https")
	a.do("PUT", web, `{"cookiename":"SID"}`).refused(t, 400, "cookiename", "cookieinsert true")
	a.must(200, "PUT", web, `{"cookieinsert":"true","httpsb":"true"}`)
	r = a.must(200, "GET", web, "")
	for name, want := range map[string]any{"httpsb": "true", "httpsb_verify": "none", "httpsb_ca": "", "httpsb_name": "", "httpsb_certificate": "", "cookieinsert": "true", "cookiename": "ZENSESSIONID",
		"cookiedomain": nil, "cookiepath": "/", "cookiettl": 0} {
		r.want(t, "services."+name, want)
	}
	a.do("PUT", web, `{"cookiedomain":""}`).refused(t, 400, "cookiedomain")
}

func TestABackendHasASourceAndAMark(t *testing.T) {
	a := newAppliance(t)
	a.shop(1)
	at := web + "/backends/0"
	a.must(200, "GET", web+"/backends", "").want(t, "params.0.source", nil)
	a.must(200, "PUT", at, `{"source":"192.0.2.10","mark":"4294967295"}`)
	r := a.must(200, "GET", web+"/backends", "")
	r.want(t, "params.0.source", "192.0.2.10")
	r.want(t, "params.0.mark", 4294967295)
	a.do("PUT", at, `{"source":"192.0.2.99"}`).refused(t, 400, "source", "192.0.2.99", "interface")
	a.do("PUT", at, `{"source":"::1"}`).refused(t, 400, "source", "IP version")
	a.do("PUT", at, `{"source":"eth0"}`).refused(t, 400, "source", "eth0")
	a.do("PUT", at, `{"mark":4294967296}`).refused(t, 400, "mark", "4294967295")
	a.do("PUT", at, `{"mark":-1}`).refused(t, 400, "mark")
	a.do("POST", web+"/backends", `{"ip":"10.0.0.9","port":80,"source":"192.0.2.99"}`).refused(t, 400, "source")
	a.must(201, "POST", web+"/backends", `{"ip":"10.0.0.9","port":80,"source":"192.0.2.10","mark":7}`).want(t, "params.mark", 7)
	a.must(200, "PUT", at, `{"source":"","mark":null}`)
	a.must(200, "GET", web+"/backends", "").want(t, "params.0.source", nil)
}
