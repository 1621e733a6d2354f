package httpfarm_test

import (
	"reflect"
	"strings"
	"testing"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/mgmt/validate/httpfarm"
	"github.com/sluicelb/sluice/mgmt/validate/validatetest"
)

func TestRateLimitsAreSetAndReset(t *testing.T) {
	for body, want := range map[string]*farm.RateLimit{
		`{"ratelimit":"100"}`: {Requests: 100},
		`{"ratelimit":0}`:     nil,
		`{"ratelimit":null}`:  nil,
		`{"ratelimit":5,"ratelimit_period":1,"ratelimit_burst":null,"ratelimit_key":"ip","ratelimit_header":""}`:         {Requests: 5},
		`{"ratelimit_period":60,"ratelimit_burst":"1","ratelimit_key":"path","ratelimit":1000000}`:                       {Requests: 1000000, Period: 60, Burst: 1, Key: "path"},
		`{"ratelimit":1,"ratelimit_header":"X-Customer","ratelimit_key":"header"}`:                                       {Requests: 1, Key: "header", Header: "X-Customer"},
		`{"ratelimit":0,"ratelimit_period":null,"ratelimit_burst":null,"ratelimit_key":null,"ratelimit_header":null}`:    nil,
		`{"ratelimit":7,"ratelimit_period":3600,"ratelimit_burst":1000000,"ratelimit_key":null,"ratelimit_header":null}`: {Requests: 7, Period: 3600, Burst: 1000000},
	} {
		var s farm.Service
		_, err := validatetest.Change(t, &httpfarm.ServiceUpdate, &s, body)
		if err != nil || !reflect.DeepEqual(s.RateLimit, want) {
			t.Errorf("%s: %v, set %+v, want %+v", body, err, s.RateLimit, want)
		}
		if err := validatetest.Rules.Config(validatetest.OnFarm(s, "http")); err != nil {
			t.Errorf("%s: %v", body, err)
		}
		if _, err := validatetest.Change(t, &httpfarm.ServiceUpdate, &s, `{"ratelimit":0}`); err != nil || s.RateLimit != nil {
			t.Errorf("%s: %v, %+v is left", body, err, s.RateLimit)
		}
	}
	s := farm.Service{RateLimit: &farm.RateLimit{Requests: 1, Key: "header", Header: "X"}}
	if _, err := validatetest.Change(t, &httpfarm.ServiceUpdate, &s, `{"ratelimit_key":"ip"}`); err != nil || *s.RateLimit != (farm.RateLimit{Requests: 1}) {
		t.Errorf("another key: %v %+v", err, s.RateLimit)
	}
}

func TestRateLimitsThatMeanNothingAreRefused(t *testing.T) {
	for body, want := range map[string]string{
		`{"ratelimit":1000001}`:                                             `ratelimit must be a number from 0 to 1000000, got 1000001`,
		`{"ratelimit":-1}`:                                                  `ratelimit must be a number from 0 to 1000000, got -1`,
		`{"ratelimit":"10/s"}`:                                              `ratelimit must be a number from 0 to 1000000, got "10/s"`,
		`{"ratelimit":1,"ratelimit_period":0}`:                              `ratelimit_period must be a number from 1 to 3600 (seconds), got 0`,
		`{"ratelimit":1,"ratelimit_period":3601}`:                           `ratelimit_period must be a number from 1 to 3600 (seconds), got 3601`,
		`{"ratelimit":1,"ratelimit_burst":0}`:                               `ratelimit_burst must be a number from 1 to 1000000, got 0`,
		`{"ratelimit":1,"ratelimit_key":"cookie"}`:                          `ratelimit_key must be one of ip, header, path, got "cookie"`,
		`{"ratelimit":1,"ratelimit_key":"header"}`:                          `ratelimit_header is required with ratelimit_key header`,
		`{"ratelimit":1,"ratelimit_header":"X"}`:                            `ratelimit_header is allowed only with ratelimit_key header; send ratelimit_key header with it`,
		`{"ratelimit":1,"ratelimit_key":"header","ratelimit_header":"a b"}`: `ratelimit_header must be the name of a header, got "a b"`,
		`{"ratelimit_period":5}`:                                            `ratelimit_period is allowed only while ratelimit is not 0; send ratelimit with it`,
		`{"ratelimit_key":"path"}`:                                          `ratelimit_key is allowed only while ratelimit is not 0`,
		`{"ratelimit":0,"ratelimit_burst":5}`:                               `ratelimit_burst is allowed only while ratelimit is not 0`,
	} {
		s := farm.Service{}
		_, err := validatetest.Change(t, &httpfarm.ServiceUpdate, &s, body)
		if err == nil {
			err = validatetest.Rules.Config(validatetest.OnFarm(s, "http"))
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s\ngot  %v\nwant %s", body, err, want)
		}
	}
}
