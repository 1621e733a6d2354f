package httpfarm_test

import (
	"errors"
	"reflect"
	"strings"
	"testing"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/mgmt/validate/field"
	"github.com/sluicelb/sluice/mgmt/validate/httpfarm"
	"github.com/sluicelb/sluice/mgmt/validate/validatetest"
)

func TestAListenerBecomesHTTPSWithTheAppliancesCertificate(t *testing.T) {
	f := validatetest.Good().Farms[0]
	if _, err := validatetest.Change(t, &httpfarm.Update, &f, `{"listener":"https"}`); err != nil || !reflect.DeepEqual(f.HTTP.TLS, farm.DefaultTLS()) {
		t.Fatalf("%v %+v", err, f.HTTP.TLS)
	}
	f.HTTP.TLS.Certificates = []string{"shop.pem"}
	if _, err := validatetest.Change(t, &httpfarm.Update, &f, `{"listener":"https"}`); err != nil || f.HTTP.TLS.Certificates[0] != "shop.pem" {
		t.Errorf("https again: %v %+v", err, f.HTTP.TLS)
	}
	if _, err := validatetest.Change(t, &httpfarm.Update, &f, `{"listener":"http"}`); err != nil || f.HTTP.TLS != nil {
		t.Errorf("http: %v %+v", err, f.HTTP.TLS)
	}
}

func TestEveryTLSFieldIsSetAndReset(t *testing.T) {
	for _, c := range []struct {
		body  string
		want  func(*farm.TLS)
		reset string
	}{
		{`{"certificates":["b.example","*.example.com.pem"]}`, func(t *farm.TLS) { t.Certificates = []string{"b.example.pem", "*.example.com.pem"} }, `{"certificates":null}`},
		{`{"certname":"shop"}`, func(t *farm.TLS) { t.Certificates = []string{"shop.pem"} }, `{"certificates":[]}`},
		{`{"ciphers":"highsecurity"}`, func(t *farm.TLS) { t.Ciphers = "highsecurity" }, `{"ciphers":"all"}`},
		{`{"ciphers":"ssloffloading"}`, func(t *farm.TLS) { t.Ciphers = "ssloffloading" }, `{"ciphers":null}`},
		{`{"cipherc":"ECDHE+AESGCM","ciphers":"customsecurity"}`, func(t *farm.TLS) { t.Ciphers, t.CustomCiphers = "customsecurity", "ECDHE+AESGCM" }, `{"ciphers":"all","cipherc":""}`},
		{`{"disable_tlsv1":"false","disable_tlsv1_1":false}`, func(t *farm.TLS) { t.DisableTLS10, t.DisableTLS11 = false, false }, `{"disable_tlsv1":true,"disable_tlsv1_1":true}`},
		{`{"disable_tlsv1_2":true}`, func(t *farm.TLS) { t.DisableTLS12 = true }, `{"disable_tlsv1_2":false}`},
		{`{"disable_tlsv1_3":true}`, func(t *farm.TLS) { t.DisableTLS13 = true }, `{"disable_tlsv1_3":"false"}`},
		{`{"disable_sslv2":true,"disable_sslv3":"false"}`, func(*farm.TLS) {}, `{"disable_sslv2":"false"}`},
		{`{"ecdhcurve":"X25519:P-256"}`, func(t *farm.TLS) { t.Curves = "X25519:P-256" }, `{"ecdhcurve":"auto"}`},
		{`{"disable_http2":true}`, func(t *farm.TLS) { t.DisableHTTP2 = true }, `{"disable_http2":"false"}`},
		{`{"client_auth":"required","client_ca":"clients.pem"}`, func(t *farm.TLS) { t.Clients, t.ClientCA = "required", "clients" }, `{"client_auth":"off"}`},
		{`{"client_ca":"clients","client_auth":"optional","clientcert_headers":true}`, func(t *farm.TLS) { t.Clients, t.ClientCA, t.ClientHeaders = "optional", "clients", true }, `{"client_auth":""}`},
		{`{"strict_host":"true"}`, func(t *farm.TLS) { t.StrictHost = true }, `{"strict_host":false}`},
		{`{"client_ca":"clients","client_auth":"optional"}`, func(t *farm.TLS) { t.Clients, t.ClientCA = "optional", "clients" }, `{"client_auth":""}`},
		{`{"nosslredirect":"https://shop.example/","nosslredirect_code":301}`, func(t *farm.TLS) { t.NoSSLRedirect, t.NoSSLCode = "https://shop.example/", 301 }, `{"nosslredirect":""}`},
		{`{"errornossl":"speak TLS"}`, func(t *farm.TLS) { t.ErrorNoSSL = "speak TLS" }, `{"errornossl":null}`},
	} {
		f := validatetest.HTTPS()
		want := farm.DefaultTLS()
		c.want(want)
		_, err := validatetest.Change(t, &httpfarm.Update, &f, c.body)
		if err != nil || !reflect.DeepEqual(f.HTTP.TLS, want) {
			t.Errorf("%s: %v\nset  %+v\nwant %+v", c.body, err, f.HTTP.TLS, want)
		}
		if err := validatetest.Rules.Config(&farm.Config{Farms: []farm.Farm{f}}); err != nil {
			t.Errorf("%s: %v", c.body, err)
		}
		if _, err := validatetest.Change(t, &httpfarm.Update, &f, c.reset); err != nil || !reflect.DeepEqual(f.HTTP.TLS,
			farm.DefaultTLS()) {
			t.Errorf("%s: %v %+v", c.reset, err, f.HTTP.TLS)
		}
	}
}

func TestTLSFieldsAreRefusedOnAnHTTPListener(t *testing.T) {
	tried := 0
	for _, p := range httpfarm.Update.Params() {
		value := map[string]string{"certificates": `["a.pem"]`, "certname": `"a.pem"`, "ciphers": `"all"`, "cipherc": `"AES"`, "ecdhcurve": `"X25519"`, "client_auth": `"optional"`,
			"client_ca": `"ca"`, "clientcert_headers": `"true"`, "strict_host": `true`, "nosslredirect": `"https://x/"`, "nosslredirect_code": `301`, "errornossl": `"x"`}[p.Name]
		if strings.HasPrefix(p.Name, "disable_") {
			value = `"true"`
		}
		if value == "" {
			continue
		}
		tried++
		for _, listener := range []string{``, `"listener":"http",`} {
			f := validatetest.HTTPS()
			if listener == "" {
				f.HTTP.TLS = nil
			}
			_, err := validatetest.Change(t, &httpfarm.Update, &f, `{`+listener+`"`+p.Name+`":`+value+`}`)
			var broken *field.Error
			if !errors.As(err, &broken) || broken.Field != p.Name || err.Error() != p.Name+" is allowed only with listener https; send listener https with it" {
				t.Errorf("%s: %v", p.Name, err)
			}
		}
	}
	if tried != 19 {
		t.Errorf("%d fields tried", tried)
	}
	f := validatetest.Good().Farms[0]
	if _, err := validatetest.Change(t, &httpfarm.Update, &f, `{"cipherc":"","client_auth":"","client_ca":null,"errornossl":"","certificates":[]}`); err != nil || f.HTTP.TLS != nil {
		t.Errorf("blank settings: %v %+v", err, f.HTTP.TLS)
	}
}

func TestTLSValuesAreRefusedWithTheReason(t *testing.T) {
	for _, c := range []struct{ body, want string }{
		{`{"listener":"tls"}`, `listener must be one of http, https, got "tls"`},
		{`{"certificates":["../x"]}`, `certificates must be a list of names of certificates, got "../x": it is made of letters`},
		{`{"certificates":["a","a.pem"]}`, `certificates must not hold the same twice: item 1, "a.pem", is item 0 already`},
		{`{"certname":"a.csr"}`, `certificates end in .pem`},
		{`{"certname":""}`, `certname must be the name of a certificate, got ""`},
		{`{"certname":"a","certificates":["b"]}`, `certname is the older name of certificates with a single one; send one of both`},
		{`{"ciphers":"low"}`, `ciphers must be one of all, highsecurity, customsecurity, ssloffloading, got "low"`},
		{`{"ciphers":"customsecurity"}`, `farm "shop-1": cipherc is required with ciphers customsecurity`},
		{`{"cipherc":"AES"}`, `cipherc is allowed only with ciphers customsecurity; send ciphers customsecurity with it`},
		{`{"ciphers":"customsecurity","cipherc":"NOSUCHCIPHER"}`, `NOSUCHCIPHER`},
		{`{"ecdhcurve":"X25519:P-512"}`, `P-512`},
		{`{"disable_tlsv1_2":true,"disable_tlsv1_3":true}`, `disable_tlsv1_2 and disable_tlsv1_3 must not both be true`},
		{`{"disable_tlsv1_2":true,"disable_tlsv1_1":false}`, `farm "shop-1": disable_tlsv1_1 must be true while disable_tlsv1_2 is`},
		{`{"disable_tlsv1_2":true,"disable_tlsv1":false}`, `disable_tlsv1 must be true while disable_tlsv1_2 is`},
		{`{"disable_tlsv1":false}`, `disable_tlsv1 must be true while disable_tlsv1_1 is`},
		{`{"disable_sslv2":"never"}`, `disable_sslv2 must be true or false`},
		{`{"client_auth":"maybe","client_ca":"x"}`, `client_auth must be one of optional, required, none, off, got "maybe"`},
		{`{"client_auth":"required"}`, `client_ca is required with client_auth required`},
		{`{"client_ca":"x"}`, `client_ca is allowed only with client_auth; send client_auth optional or required with it`},
		{`{"clientcert_headers":true}`, `clientcert_headers is allowed only with client_auth; send client_auth optional or required with it`},
		{`{"client_ca":"-x","client_auth":"optional"}`, `client_ca must be the name of a list of authorities, got "-x"`},
		{`{"nosslredirect":"https://${VHOST}/"}`, `it is sent as it stands, the host of the request is not known here`},
		{`{"nosslredirect":"/x"}`, `nosslredirect must be an absolute http or https URL, got "/x"`},
		{`{"nosslredirect":"https://x/\r\nA: b"}`, `it holds a blank or a control character`},
		{`{"nosslredirect_code":301}`, `nosslredirect_code is allowed only with nosslredirect; send nosslredirect with it`},
		{`{"nosslredirect":"https://x/","nosslredirect_code":303}`, `nosslredirect_code must be one of 301, 302, 307, got 303`},
		{`{"errornossl":"` + strings.Repeat("x", 4097) + `"}`, `errornossl must be at most 4096 bytes long`},
	} {
		f := validatetest.HTTPS()
		_, err := validatetest.Change(t, &httpfarm.Update, &f, c.body)
		if err == nil {
			err = validatetest.First(&farm.Config{Farms: []farm.Farm{f}})
		}
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%.80s\ngot  %v\nwant %s", c.body, err, c.want)
		}
	}
}

// Files and data of older releases may contain combinations that no body can produce.
func TestACraftedListenerIsRefused(t *testing.T) {
	for want, spoil := range map[string]func(*farm.TLS){
		"certificates must name at least one certificate":          func(t *farm.TLS) { t.Certificates = nil },
		"cipherc is allowed only with ciphers customsecurity":      func(t *farm.TLS) { t.CustomCiphers = "AES" },
		"clientcert_headers is allowed only with client_auth":      func(t *farm.TLS) { t.ClientHeaders = true },
		"client_ca is allowed only with client_auth":               func(t *farm.TLS) { t.ClientCA = "x" },
		"nosslredirect_code is allowed only with nosslredirect":    func(t *farm.TLS) { t.NoSSLCode = 301 },
		"client_auth must be one of":                               func(t *farm.TLS) { t.Clients = "x" },
		"certificates must be a list of names of certificates":     func(t *farm.TLS) { t.Certificates = []string{"a\nb"} },
		"ciphers must be one of":                                   func(t *farm.TLS) { t.Ciphers = "x" },
		"cipherc must be an OpenSSL cipher string, got \"NOSUCH\"": func(t *farm.TLS) { t.Ciphers, t.CustomCiphers = "customsecurity", "NOSUCH" },
	} {
		f := validatetest.HTTPS()
		spoil(f.HTTP.TLS)
		err := validatetest.First(&farm.Config{Farms: []farm.Farm{f}})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}
