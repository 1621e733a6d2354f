package validate

import (
	"reflect"
	"slices"
	"testing"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/mgmt/validate/field"
	"github.com/sluicelb/sluice/mgmt/validate/httpfarm"
	"github.com/sluicelb/sluice/mgmt/validate/l4farm"
)

func answered(t *testing.T, s *farm.Service, want map[string]any) {
	t.Helper()
	got := httpfarm.ServiceAnswer.Answer(s)
	for name, v := range want {
		if out, there := got[name]; there != (v != "left out") || there && !reflect.DeepEqual(out, v) {
			t.Errorf("%s is %v (%v), want %v", name, out, there, v)
		}
	}
}

func TestAnswersLeaveOutWhatMeansNothing(t *testing.T) {
	const none = "left out"
	answered(t, &farm.Service{}, map[string]any{"queue": int64(0), "queue_timeout": none, "retry_on": []string{}, "retries": none, "retry_unsafe": none,
		"redirect": none, "redirecttype": none, "ttl": nil, "sessionid": "", "cookieinsert": "false", "cookiename": none, "ratelimit_burst": none, "split": none,
		"auth_users": none, "auth_realm": none, "routingpolicy": "ROUND_ROBIN", "abortonclose": "true", "leastresp": "false", "httpsb_ca": none})
}

func TestAnswersShowWhatIsInForce(t *testing.T) {
	const none = "left out"
	zero := uint8(0)
	answered(t, &farm.Service{Queueing: farm.Queueing{Queue: 1}, Retrying: farm.Retrying{RetryOn: []farm.RetryCondition{"reset"}}, Redirect: "http://x",
		Persistence: farm.PersistCookie, RateLimit: &farm.RateLimit{Requests: 3}, TLS: &farm.BackendTLS{}, Split: &zero, Auth: &farm.Auth{Users: []farm.AuthUser{{Name: "ann", Hash: "h"}}},
		Policy: farm.PolicyResponseTime},
		map[string]any{"queue_timeout": int64(5), "retries": int64(1), "retry_budget": int64(20), "retry_unsafe": "false", "redirecttype": "default", "redirect_code": int64(302),
			"ttl": int64(120), "ratelimit_period": int64(1), "ratelimit_key": "ip", "ratelimit_header": none, "ratelimit_burst": none, "httpsb_verify": "none", "httpsb_ca": "",
			"split": int64(0), "auth_users": []string{"ann:***"}, "auth_realm": "Restricted", "auth_strip": "true", "auth_keys": none, "leastresp": "true"})
	answered(t, &farm.Service{TTL: 60, SessionID: "x"}, map[string]any{"ttl": int64(60), "sessionid": "x"})
}

// Clients read whole objects and send them back, which must change nothing.
func TestAnswersCanBeSentBack(t *testing.T) {
	for _, s := range []farm.Service{{}, {Persistence: farm.PersistIP}, {Redirect: "http://x"}, {Cookie: farm.DefaultCookie(), TLS: &farm.BackendTLS{}, STS: farm.DefaultSTS},
		{RateLimit: &farm.RateLimit{Requests: 5, Key: farm.RateKeyHeader, Header: "X"}, Compression: &farm.Compression{Codings: []farm.Coding{"gzip"}}}} {
		before := httpfarm.ServiceAnswer.Answer(&s)
		values, err := httpfarm.ServiceUpdate.Decode("", before)
		if err == nil {
			err = values.Apply(&s)
		}
		if after := httpfarm.ServiceAnswer.Answer(&s); err != nil || !reflect.DeepEqual(after, before) {
			t.Errorf("%v\nafter a round trip %v: %v", before, after, err)
		}
	}
	https := farm.DefaultHTTP()
	https.TLS = farm.DefaultTLS()
	for _, f := range []farm.Farm{{HTTP: farm.DefaultHTTP()}, {HTTP: https}} {
		before := httpfarm.Answer.Answer(&f)
		values, err := httpfarm.Update.Decode("", before)
		if err == nil {
			err = values.Apply(&f)
		}
		if after := httpfarm.Answer.Answer(&f); err != nil || !reflect.DeepEqual(after, before) {
			t.Errorf("%v\nafter a round trip %v: %v", before, after, err)
		}
	}
}

// Requests accept other spellings than responses show.
func TestAnswersNameTheirOwnSpellings(t *testing.T) {
	answered := map[string]field.Answered{}
	for _, a := range append(httpfarm.ServiceAnswer.Answers(), httpfarm.Answer.Answers()...) {
		answered[a.Name] = a
	}
	for name, want := range map[string][]string{
		"client_auth": field.Texts(farm.ClientAuths()), "httpverb": field.Texts(farm.VerbSets()), "persistence": append([]string{""}, field.Texts(farm.Persistences())...), "queue": nil, "retry_on": nil, "error503": nil,
	} {
		if a, there := answered[name]; !there || !slices.Equal(a.PossibleValues, want) {
			t.Errorf("%s is shown as one of %q, want %q; %t", name, a.PossibleValues, want, there)
		}
	}
	for name, kind := range map[string]string{"queue": "integer", "retry_on": "array", "persistence": "string"} {
		if answered[name].Type != kind {
			t.Errorf("%s is shown as %s", name, answered[name].Type)
		}
	}
}

func TestBackendsOfEachProfileShowUnsetInTheirWay(t *testing.T) {
	http, l4 := httpfarm.BackendAnswer.Answer(&farm.Backend{}), l4farm.BackendAnswer.Answer(&farm.Backend{})
	if http["weight"] != nil || http["connection_limit"] != nil || l4["weight"] != int64(1) || l4["priority"] != int64(1) || l4["max_conns"] != int64(0) || l4["port"] != nil || l4["mark"] != nil {
		t.Errorf("http %v\nl4xnat %v", http, l4)
	}
	if _, there := http["weight"]; !there {
		t.Error("null values are left out")
	}
	if got := httpfarm.BackendAnswer.Answer(&farm.Backend{Weight: 1}); got["weight"] != int64(1) {
		t.Errorf("a weight of 1 is %v", got["weight"])
	}
}

// An invalid number represents an unset field.
func TestAZeroThatIsNoValueIsAnsweredAsTheDefault(t *testing.T) {
	got := httpfarm.Answer.Answer(&farm.Farm{HTTP: &farm.HTTP{}})
	if got["contimeout"] != int64(farm.DefaultHTTP().ConnectTimeout) || got["maxbody"] != int64(0) {
		t.Errorf("contimeout %v, maxbody %v", got["contimeout"], got["maxbody"])
	}
}
