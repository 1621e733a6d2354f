package api_test

import "testing"

func TestAListenerSpeaksTLSAndSaysSo(t *testing.T) {
	a := newAppliance(t)
	a.shop(1)
	r := a.must(200, "GET", "/farms/shop", "")
	for _, name := range []string{"ciphers", "cipherc", "disable_sslv2", "disable_tlsv1", "ecdhcurve", "client_auth", "nosslredirect"} {
		r.want(t, "params."+name, nil) // an http farm can be sent back as it came
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

// What GET shows of a farm can be sent back as a whole, and changes nothing.
func TestAFarmCanBeSentBackAsItCame(t *testing.T) {
	for _, listener := range []string{"http", "https"} {
		a := newAppliance(t)
		a.shop(1)
		a.must(200, "PUT", "/farms/shop", `{"listener":"`+listener+`","trusted":"10.0.0.0/8","ignore_100_continue":"silent"}`)
		before, _ := a.applier.Current()
		params := a.must(200, "GET", "/farms/shop", "").body["params"].(map[string]any)
		for _, name := range []string{"farmname", "profile", "status", "certlist", "addheader", "headremove", "addresponseheader", "removeresponseheader", "replacerequestheader", "replaceresponseheader"} {
			delete(params, name) // shown, and changed elsewhere
		}
		a.must(200, "PUT", "/farms/shop", quoteAny(params))
		if after, _ := a.applier.Current(); after != before {
			t.Errorf("%s: the configuration was changed", listener)
		}
	}
}
