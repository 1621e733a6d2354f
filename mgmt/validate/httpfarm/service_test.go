package httpfarm_test

import (
	"reflect"
	"strings"
	"testing"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/mgmt/validate"
	"github.com/sluicelb/sluice/mgmt/validate/httpfarm"
	"github.com/sluicelb/sluice/mgmt/validate/validatetest"
)

func TestEveryOptionOfAServiceIsSetAndReset(t *testing.T) {
	cookie := func(change func(*farm.CookieInsert)) func(*farm.Service) {
		return func(s *farm.Service) { s.Cookie = farm.DefaultCookie(); change(s.Cookie) }
	}
	tls := func(v farm.BackendTLS) func(*farm.Service) { return func(s *farm.Service) { s.TLS = &v } }
	zip := func(change func(*farm.Compression)) func(*farm.Service) {
		return func(s *farm.Service) {
			s.Compression = &farm.Compression{Codings: []farm.Coding{farm.CodingZstd, farm.CodingGzip}}
			change(s.Compression)
		}
	}
	for _, c := range []struct {
		body  string
		want  func(*farm.Service)
		reset string
	}{
		{`{"headrequire":["^X-A: 1$","^X-B:"]}`, func(s *farm.Service) { s.HeadRequire = []string{"^X-A: 1$", "^X-B:"} }, `{"headrequire":[]}`},
		{`{"headdeny":"^User-Agent: bot"}`, func(s *farm.Service) { s.HeadDeny = []string{"^User-Agent: bot"} }, `{"headdeny":null}`},
		{`{"ignorecase":"true"}`, func(s *farm.Service) { s.IgnoreCase = true }, `{"ignorecase":"false"}`},
		{`{"rewritelocation":"enabled-backends-path"}`, func(s *farm.Service) { s.RewriteLocation = "enabled-backends-path" }, `{"rewritelocation":""}`},
		{`{"abortonclose":"false"}`, func(s *farm.Service) { s.IgnoreClose = true }, `{"abortonclose":true}`},
		{`{"pinnedconnection":"1"}`, func(s *farm.Service) { s.Pinned = true }, `{"pinnedconnection":0}`},
		{`{"httpsb":"true"}`, tls(farm.BackendTLS{}), `{"httpsb":"false"}`},
		{`{"httpsb_verify":"none","httpsb":true}`, tls(farm.BackendTLS{}), `{"httpsb":false,"httpsb_verify":null}`},
		{`{"httpsb":true,"httpsb_verify":"system","httpsb_name":"db.example"}`, tls(farm.BackendTLS{Verify: "system", Name: "db.example"}), `{"httpsb":false}`},
		{`{"httpsb_ca":"own.pem","httpsb_verify":"ca","httpsb":true,"httpsb_certificate":"us"}`, tls(farm.BackendTLS{Verify: "ca", CA: "own", Certificate: "us.pem"}), `{"httpsb":false}`},
		{`{"cookieinsert":"true"}`, cookie(func(*farm.CookieInsert) {}), `{"cookieinsert":"false"}`},
		{`{"cookiename":"SID","cookiedomain":".shop.example","cookiepath":"/a","cookiettl":"60","cookieinsert":true}`,
			cookie(func(c *farm.CookieInsert) {
				*c = farm.CookieInsert{Name: "SID", Domain: ".shop.example", Path: "/a", TTL: 60}
			}), `{"cookieinsert":false}`},
		{`{"cookiesamesite":"none","cookieinsert":true}`, cookie(func(c *farm.CookieInsert) { c.SameSite = farm.SameSiteNone }), `{"cookieinsert":false}`},
		{`{"cookiesamesite":"off","cookieinsert":true}`, cookie(func(c *farm.CookieInsert) { c.SameSite = farm.SameSiteOff }), `{"cookieinsert":false}`},
		{`{"cookiesamesite":"lax","cookieinsert":true}`, cookie(func(*farm.CookieInsert) {}), `{"cookieinsert":false}`},
		{`{"backendprotocol":"h2"}`, func(s *farm.Service) { s.BackendProtocol = farm.BackendHTTP2 }, `{"backendprotocol":"http1"}`},
		{`{"sts_status":"true"}`, func(s *farm.Service) { s.STS = farm.DefaultSTS }, `{"sts_status":"false"}`},
		{`{"sts_timeout":600,"sts_status":true}`, func(s *farm.Service) { s.STS = 600 }, `{"sts_status":false}`},
		{`{"served_by":"X-Backend"}`, func(s *farm.Service) { s.ServedBy = "X-Backend" }, `{"served_by":""}`},
		{`{"retry_on":["reset","503"],"retries":"3","retry_budget":50,"retry_unsafe":"true"}`, func(s *farm.Service) {
			s.Retrying = farm.Retrying{RetryOn: []farm.RetryCondition{"reset", "503"}, Retries: 3, RetryBudget: 50, RetryUnsafe: true}
		}, `{"retry_on":[]}`},
		{`{"backend_leniency":["bare_lf","all"]}`, func(s *farm.Service) { s.Leniency = []farm.Leniency{"bare_lf", "all"} }, `{"backend_leniency":null}`},
		{`{"retry_on":"timeout"}`, func(s *farm.Service) { s.RetryOn = []farm.RetryCondition{"timeout"} }, `{"retry_on":null,"retry_unsafe":false}`},
		{`{"outlier_errors":5}`, func(s *farm.Service) { s.OutlierErrors = 5 }, `{"outlier_errors":0}`},
		{`{"outlier_percent":100,"outlier_errors":"1","outlier_time":3600}`, func(s *farm.Service) {
			s.Outlier = farm.Outlier{OutlierErrors: 1, OutlierTime: 3600, OutlierPercent: 100}
		}, `{"outlier_errors":null}`},
		{`{"outlier_rate":"30","outlier_slow":3,"outlier_window":5,"outlier_requests":"200"}`, func(s *farm.Service) {
			s.Outlier = farm.Outlier{OutlierRate: 30, OutlierSlow: 3, OutlierWindow: 5, OutlierRequests: 200}
		}, `{"outlier_rate":0,"outlier_slow":null}`},
		{`{"slowstart":"30"}`, func(s *farm.Service) { s.SlowStart = 30 }, `{"slowstart":0}`},
		{`{"queue":"100"}`, func(s *farm.Service) { s.Queue = 100 }, `{"queue":0}`},
		{`{"queue_timeout":30,"queue":1}`, func(s *farm.Service) { s.Queueing = farm.Queueing{Queue: 1, QueueTimeout: 30} }, `{"queue":null}`},
		{`{"compression":["zstd","gzip"]}`, zip(func(*farm.Compression) {}), `{"compression":[]}`},
		{`{"compression":["zstd","gzip"],"compression_min":"1024","compression_types":[],"compression_level":"default"}`, zip(func(*farm.Compression) {}), `{"compression":null}`},
		{`{"compression_min":500,"compression_types":["Text/*","application/json"],"compression_level":"best","compression":["zstd","gzip"]}`,
			zip(func(c *farm.Compression) {
				c.Min, c.Types, c.Level = 500, []string{"text/*", "application/json"}, farm.CompressionBest
			}), `{"compression":""}`},
		{`{"leastresp":"true"}`, func(s *farm.Service) { s.Policy = "RESPONSE_TIME" }, `{"leastresp":"false"}`},
		{`{"leastresp":"true","routingpolicy":"RESPONSE_TIME"}`, func(s *farm.Service) { s.Policy = "RESPONSE_TIME" }, `{"leastresp":false}`},
	} {
		s, want := farm.Service{}, farm.Service{}
		c.want(&want)
		if _, err := validatetest.Change(t, &httpfarm.ServiceUpdate, &s, c.body); err != nil || !reflect.DeepEqual(s, want) {
			t.Errorf("%s: %v\nset  %+v\nwant %+v", c.body, err, s, want)
		}
		if err := validatetest.Rules.Config(validatetest.OnFarm(s, "https")); err != nil {
			t.Errorf("%s: %v", c.body, err)
		}
		_, err := validatetest.Change(t, &httpfarm.ServiceUpdate, &s, c.reset)
		if err != nil || !reflect.DeepEqual(s, farm.Service{}) {
			t.Errorf("%s: %v %+v", c.reset, err, s)
		}
	}
}

func TestNullBringsBackWhatASwitchBeganWith(t *testing.T) {
	s := farm.Service{STS: 5, TLS: &farm.BackendTLS{Verify: "ca", CA: "x", Name: "y"}}
	want := farm.Service{STS: farm.DefaultSTS, TLS: &farm.BackendTLS{}}
	if _, err := validatetest.Change(t, &httpfarm.ServiceUpdate, &s, `{"sts_timeout":null,"httpsb_verify":null,"httpsb_name":null}`); err != nil || !reflect.DeepEqual(s, want) {
		t.Errorf("%v %+v %+v", err, s, s.TLS)
	}
}

func TestAPolicyThatIsNamedWinsOverAnOldFalse(t *testing.T) {
	s := farm.Service{Policy: "RESPONSE_TIME"}
	if _, err := validatetest.Change(t, &httpfarm.ServiceUpdate, &s, `{"leastresp":"false","routingpolicy":"RESPONSE_TIME"}`); err != nil || s.Policy != "RESPONSE_TIME" {
		t.Errorf("%v %+v", err, s)
	}
	if _, err := validatetest.Change(t, &httpfarm.ServiceUpdate, &s, `{"leastresp":"false","routingpolicy":"LEAST_CONNECTIONS"}`); err != nil || s.Policy != "LEAST_CONNECTIONS" {
		t.Errorf("%v %+v", err, s)
	}
	if _, err := validatetest.Change(t, &httpfarm.ServiceUpdate, &s, `{"leastresp":"false"}`); err != nil || s.Policy != "LEAST_CONNECTIONS" {
		t.Errorf("%v %+v", err, s)
	}
}

func TestOptionsOfAServiceAreRefusedWithTheReason(t *testing.T) {
	for _, c := range []struct{ body, want string }{
		{`{"headrequire":["(?=a)"]}`, `headrequire must be a list of regular expressions, got "(?=a)": look-around is not available`},
		{`{"headdeny":["a","a"]}`, `headdeny must not hold the same twice: item 1, "a", is item 0 already`},
		{`{"headdeny":[` + strings.Repeat(`"a",`, 32) + `"b"]}`, `headdeny may have at most 32 items, got 33`},
		{`{"rewritelocation":"sometimes"}`, `rewritelocation must be one of disabled, enabled,`},
		{`{"pinnedconnection":2}`, `pinnedconnection must be one of 0, 1, got 2`},
		{`{"httpsb_verify":"system"}`, `httpsb_verify is allowed only while httpsb is true; send httpsb true with it`},
		{`{"httpsb":true,"httpsb_verify":"sometimes"}`, `httpsb_verify must be one of none, system, ca, got "sometimes"`},
		{`{"httpsb":true,"httpsb_ca":"x"}`, `httpsb_ca is allowed only with httpsb_verify ca; send httpsb_verify ca with it`},
		{`{"httpsb":true,"httpsb_verify":"ca"}`, `farm "shop-1" service "web": httpsb_ca is required with httpsb_verify ca`},
		{`{"httpsb":true,"httpsb_name":"a b"}`, `httpsb_name must be a host name or an address, got "a b"`},
		{`{"httpsb":true,"httpsb_certificate":"a.key"}`, `certificates end in .pem`},
		{`{"httpsb":false,"httpsb_name":"x"}`, `httpsb_name is allowed only while httpsb is true`},
		{`{"backendprotocol":"h3"}`, `backendprotocol must be one of http1, h2, got "h3"`},
		{`{"backendprotocol":"h2","pinnedconnection":1}`, `pinnedconnection must be 0 with backendprotocol h2`},
		{`{"cookiename":"SID"}`, `cookiename is allowed only while cookieinsert is true; send cookieinsert true with it`},
		{`{"cookiettl":5}`, `cookiettl is allowed only while cookieinsert is true`},
		{`{"cookieinsert":"false","cookiepath":"/"}`, `cookiepath is allowed only while cookieinsert is true`},
		{`{"cookieinsert":"true","cookiename":""}`, `cookiename must be a token (letters, digits and !#$%&'*+.^_` + "`" + `|~-), got ""`},
		{`{"cookieinsert":"true","cookiename":null}`, `cookiename must be a token (letters, digits and !#$%&'*+.^_` + "`" + `|~-), got null`},
		{`{"cookieinsert":"true","cookiedomain":""}`, `cookiedomain must be a domain name, got ""`},
		{`{"cookieinsert":"true","cookiedomain":null}`, `cookiedomain must be a domain name, got null`},
		{`{"cookieinsert":"true","cookiepath":""}`, `cookiepath must be a path that starts with /, got ""`},
		{`{"cookieinsert":"true","cookiepath":null}`, `cookiepath must be a path that starts with /, got null`},
		{`{"cookieinsert":"true","cookiettl":""}`, `cookiettl must be a number from 0 to 31536000 (seconds), got ""`},
		{`{"cookieinsert":"true","cookiettl":null}`, `cookiettl must be a number from 0 to 31536000 (seconds), got null`},
		{`{"cookiesamesite":"none"}`, `cookiesamesite is allowed only while cookieinsert is true; send cookieinsert true with it`},
		{`{"cookieinsert":"true","cookiesamesite":"Lax; Secure"}`, `cookiesamesite must be one of lax, none, strict, off, got "Lax; Secure"`},
		{`{"cookieinsert":"true","cookiesamesite":""}`, `cookiesamesite must be one of lax, none, strict, off, got ""`},
		{`{"cookieinsert":"true","cookiesamesite":null}`, `cookiesamesite must be one of lax, none, strict, off, got null`},
		{`{"cookieinsert":"true","cookiename":"a;b"}`, `cookiename must be a token`},
		{`{"cookieinsert":"true","cookiename":"a\r\nb"}`, `cookiename must be a token`},
		{`{"cookieinsert":"true","cookiedomain":"10.0.0.1"}`, `it is no domain name`},
		{`{"cookieinsert":"true","cookiepath":"a"}`, `it starts with something else`},
		{`{"cookieinsert":"true","cookiepath":"/a;Secure"}`, `it holds a semicolon`},
		{`{"cookieinsert":"true","cookiettl":-1}`, `got -1`},
		{`{"retry_on":["404"]}`, `retry_on must be a list of connect, reset, timeout, 408, 425, 429, 500, 502, 503, 504, got "404": it is none of them`},
		{`{"retry_on":["reset","reset"]}`, `retry_on must not hold the same twice`},
		{`{"retries":2}`, `retries is allowed only with retry_on; send retry_on with it`},
		{`{"retry_on":["reset"],"retries":6}`, `retries must be a number from 1 to 5, got 6`},
		{`{"retry_on":["reset"],"retry_budget":101}`, `retry_budget must be a number from 1 to 100 (percent), got 101`},
		{`{"retry_on":[],"retry_unsafe":true}`, `retry_unsafe is allowed only with retry_on`},
		{`{"outlier_errors":101}`, `outlier_errors must be a number from 0 to 100, got 101`},
		{`{"outlier_time":5}`, `outlier_time is allowed only with outlier_errors, outlier_rate or outlier_slow; send one of them with it`},
		{`{"outlier_errors":5,"outlier_time":0}`, `outlier_time must be a number from 1 to 3600 (seconds), got 0`},
		{`{"outlier_errors":5,"outlier_percent":101}`, `outlier_percent must be a number from 1 to 100 (percent), got 101`},
		{`{"slowstart":3601}`, `slowstart must be a number from 0 to 3600 (seconds), got 3601`},
		{`{"queue":65536}`, `queue must be a number from 0 to 65535, got 65536`},
		{`{"queue":-1}`, `queue must be a number from 0 to 65535, got -1`},
		{`{"queue_timeout":5}`, `queue_timeout is allowed only while queue is not 0; send queue with it`},
		{`{"queue":0,"queue_timeout":5}`, `queue_timeout is allowed only while queue is not 0`},
		{`{"queue":5,"queue_timeout":0}`, `queue_timeout must be a number from 1 to 3600 (seconds), got 0`},
		{`{"sts_timeout":600}`, `sts_timeout is allowed only while sts_status is true; send sts_status true with it`},
		{`{"sts_status":"true","sts_timeout":0}`, `sts_timeout must be a number from 1 to 315360000 (seconds), got 0`},
		{`{"served_by":"a b"}`, `served_by must be the name of a header`},
		{`{"served_by":"Transfer-Encoding"}`, `it frames the message`},
		{`{"served_by":"Keep_Alive"}`, `it is between two neighbours only`},
		{`{"served_by":"content-type"}`, `answers need what Content- fields say`},
		{`{"served_by":"set-cookie"}`, `answers need what Set-Cookie says`},
		{`{"compression":["deflate"]}`, `compression must be one of gzip, zstd, br, got "deflate": there is no such coding`},
		{`{"compression":["gzip","gzip"]}`, `compression must not hold the same twice`},
		{`{"compression_min":5}`, `compression_min is allowed only while compression names an encoding; send compression with it`},
		{`{"compression":[],"compression_level":"best"}`, `compression_level is allowed only while compression names an encoding`},
		{`{"compression":"gzip","compression_min":0}`, `compression_min must be a number from 1 to 16777216 (bytes), got 0`},
		{`{"compression":"gzip","compression_level":"9"}`, `compression_level must be one of fast, default, best`},
		{`{"compression":"gzip","compression_types":["text"]}`, `compression_types must be a list of at most 64 media types, where type/* stands for all of a type, got "text"`},
		{`{"compression":"gzip","compression_types":["*/*"]}`, `got "*/*"`},
		{`{"compression":"gzip","compression_types":["text/html; charset=utf-8"]}`, `got "text/html; charset=utf-8"`},
		{`{"leastresp":true,"routingpolicy":"LEAST_CONNECTIONS"}`, `leastresp true means routingpolicy RESPONSE_TIME, which contradicts routingpolicy LEAST_CONNECTIONS; send one of both`},
	} {
		s := farm.Service{}
		_, err := validatetest.Change(t, &httpfarm.ServiceUpdate, &s, c.body)
		if err == nil {
			err = validatetest.First(validatetest.OnFarm(s, "https"))
		}
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%.80s\ngot  %v\nwant %s", c.body, err, c.want)
		}
	}
	for want, s := range map[string]farm.Service{
		`service "web": sts_status must be false with listener http`:      {STS: 5},
		`cookiename must be a token`:                                      {Cookie: &farm.CookieInsert{Path: "/"}},
		`httpsb_ca is allowed only with httpsb_verify ca`:                 {TLS: &farm.BackendTLS{CA: "x"}},
		`served_by must be the name of a header`:                          {ServedBy: "a:b"},
		`headrequire must be a list of regular expressions, item 0 is bl`: {HeadRequire: []string{""}},
	} {
		if err := validatetest.First(validatetest.OnFarm(s, "http")); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v", s, err)
		}
	}
}

func TestASplitIsAWeightEvenWhenItIsZero(t *testing.T) {
	t.Parallel()
	s := farm.Service{}
	for body, want := range map[string]int{`{"split":0}`: 0, `{"split":"100"}`: 100, `{"split":5}`: 5, `{"split":null}`: -1, `{"split":""}`: -1} {
		v, err := validatetest.Change(t, &httpfarm.ServiceUpdate, &s, body)
		got := -1
		if s.Split != nil {
			got = int(*s.Split)
		}
		if err != nil || got != want {
			t.Errorf("%s: %d, %v", body, got, err)
		}
		given := false
		for name := range httpfarm.ServiceDocument.Given(&s) {
			given = given || name == "split"
		}
		if given != (want >= 0) {
			t.Errorf("%s: a document has it: %v", body, given)
		}
		if want < 0 && validatetest.Sent(v, "split") != "null" {
			t.Errorf("%s: the answer has %s", body, validatetest.Sent(v, "split"))
		}
	}
	for _, body := range []string{`{"split":101}`, `{"split":-1}`, `{"split":"5%"}`} {
		if _, err := validatetest.Change(t, &httpfarm.ServiceUpdate, &s, body); err == nil || !strings.Contains(err.Error(), "split must be a number from 0 to 100, got ") {
			t.Errorf("%s: %v", body, err)
		}
	}
}

func TestASplitWithoutNeighbourIsWarnedOf(t *testing.T) {
	t.Parallel()
	n := uint8(5)
	for splits, want := range map[string]string{"x": "a", "xx": "", "x-": "a", "-xx": "", "x-x": "a c", "xx-x": "d", "-": ""} {
		h := &farm.HTTP{}
		for i, c := range splits {
			s := farm.Service{Name: string(rune('a' + i))}
			if c == 'x' {
				s.Split = &n
			}
			h.Services = append(h.Services, s)
		}
		var got []string
		for _, w := range validate.Warnings(&farm.Config{Farms: []farm.Farm{{Name: "f", HTTP: h}}}) {
			got = append(got, strings.Trim(strings.TrimPrefix(w.Path, `farm "f" service `), `"`))
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%s: warned of %v, want %s", splits, got, want)
		}
	}
}
