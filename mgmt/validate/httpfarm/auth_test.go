package httpfarm_test

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
	"testing"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/core/password"
	"github.com/sluicelb/sluice/mgmt/validate/httpfarm"
	"github.com/sluicelb/sluice/mgmt/validate/validatetest"
)

func sum(key string) string {
	b := sha256.Sum256([]byte(key))
	return hex.EncodeToString(b[:])
}

func TestPasswordsAndKeysBecomeHashesAndAreNeverShown(t *testing.T) {
	t.Parallel()
	s := farm.Service{}
	const key, other = "a key of sixteen or more", "another one of the same kind"
	v, err := validatetest.Change(t, &httpfarm.ServiceUpdate, &s, `{"auth_users":["ali:open: sesame","bo:`+validatetest.TeaHash+`"],"auth_keys":["`+key+`","sha256:`+sum(other)+`"],"auth_header":"X-Key"}`)
	if err != nil {
		t.Fatal(err)
	}
	if err := validatetest.Rules.Config(validatetest.OnFarm(s, "http")); err != nil {
		t.Fatal(err)
	}
	a := s.Auth
	if a.Users[0].Name != "ali" || !password.Matches([]byte(a.Users[0].Hash), []byte("open: sesame")) || a.Users[1] != (farm.AuthUser{Name: "bo", Hash: validatetest.TeaHash}) {
		t.Errorf("users %q", []string{a.Users[0].Hash, a.Users[1].Hash})
	}
	if a.Header != "X-Key" || string(a.Keys[0]) != sum(key) || string(a.Keys[1]) != sum(other) || a.Pass {
		t.Errorf("keys %q", []string{string(a.Keys[0]), string(a.Keys[1])})
	}
	if got, want := validatetest.Sent(v, "auth_users")+validatetest.Sent(v, "auth_keys"), `["ali:***","bo:***"]["sha256:`+sum(key)[:8]+`…","sha256:`+sum(other)[:8]+`…"]`; got != want {
		t.Errorf("the answer shows %s, want %s", got, want)
	}
	text := fmt.Sprintf("%v %+v %s", s.Auth.Users, *s.Auth, s.Auth.Keys)
	for name, v := range httpfarm.ServiceDocument.Shown(&s) {
		text += name + v.String()
	}
	if strings.Contains(text, "$2") || strings.Contains(text, sum(key)) || !strings.Contains(text, "bo:*** (") {
		t.Errorf("shown is %s", text)
	}
	answer := httpfarm.ServiceAnswer.Answer(&s)
	users, keys := answer["auth_users"], answer["auth_keys"]
	if fmt.Sprint(users, keys) != "[ali:*** bo:***] [sha256:"+sum(key)[:8]+"… sha256:"+sum(other)[:8]+"…]" {
		t.Errorf("shown are %v %v", users, keys)
	}
}

func TestShownCredentialsCanBeSentBack(t *testing.T) {
	t.Parallel()
	key := sum("a key of sixteen or more")
	service := func() farm.Service {
		return farm.Service{Auth: &farm.Auth{Users: []farm.AuthUser{{Name: "ali", Hash: validatetest.TeaHash}, {Name: "bo", Hash: validatetest.TeaHash}}, Header: "X-Key", Keys: []farm.AuthKey{farm.AuthKey(key)}}}
	}
	for body, want := range map[string]string{
		`{"auth_users":["ali:***","bo:***"],"auth_header":"X-Key","auth_keys":["sha256:` + key[:8] + `…"],"auth_realm":"Restricted","auth_strip":"true"}`: "ali same bo same X-Key 1",
		`{"auth_users":["bo:***"],"auth_keys":["sha256:` + key[:8] + `...","another key that is long"]}`:                                                  "bo same X-Key 2",
		`{"auth_users":["ali:tea"]}`:               "ali same X-Key 1", // its current password
		`{"auth_users":["ali:coffee"]}`:            "ali new X-Key 1",
		`{"auth_users":[]}`:                        "X-Key 1",
		`{"auth_header":""}`:                       "ali same bo same  0",
		`{"auth_users":null,"auth_header":""}`:     "none",
		`{"auth_header":"x-other"}`:                "ali same bo same x-other 1",
		`{"auth_realm":"inside","auth_strip":"0"}`: "refused",
	} {
		s := service()
		got := "none"
		if _, err := validatetest.Change(t, &httpfarm.ServiceUpdate, &s, body); err != nil {
			got = "refused"
		} else if s.Auth != nil {
			got = ""
			for _, u := range s.Auth.Users {
				got += u.Name + map[bool]string{true: " same ", false: " new "}[u.Hash == validatetest.TeaHash]
			}
			got += fmt.Sprintf("%s %d", s.Auth.Header, len(s.Auth.Keys))
		}
		if got != want {
			t.Errorf("%s: got %q, want %q", body, got, want)
		}
	}
}

func TestProtectionThatProtectsNothingIsRefused(t *testing.T) {
	t.Parallel()
	var many []string
	for i := range 33 {
		many = append(many, fmt.Sprintf(`"u%d:x"`, i))
	}
	const keyed = `"auth_header":"X-Key",`
	for body, want := range map[string]string{
		`{"auth_users":["ali"]}`:                                                                   `auth_users must be a list of at most 256 users as name:password, got "***": it has no colon`,
		`{"auth_users":["ali:"]}`:                                                                  `got "ali:***": the password is blank`,
		`{"auth_users":[":secret"]}`:                                                               `the name has 1 to 64 bytes`,
		`{"auth_users":["ali:secret","ali:other"]}`:                                                `must not hold the same twice: item 1, "ali:***", is item 0 already`,
		`{"auth_users":["ali:sec\nret"]}`:                                                          `the password holds a control character`,
		`{"auth_users":["ali:` + strings.Repeat("x", 73) + `"]}`:                                   `the password has 73 bytes, at most 72 are possible`,
		`{"auth_users":["ali:` + strings.Repeat("x", 200) + `"]}`:                                  `auth_users must be at most 137 bytes long, got 204`,
		`{"auth_users":["ali:{SHA}xxxx"]}`:                                                         `got "ali:***": the hash is unsalted SHA-1, only bcrypt is possible: make it with htpasswd -B`,
		`{"auth_users":["ali:$apr1$a$b"]}`:                                                         `the hash is Apache's MD5`,
		`{"auth_users":["ali:$2y$04` + validatetest.TeaHash[6:] + `"]}`:                            `the hash has cost 4, from 5 to 14 are possible`,
		`{"auth_users":["ali:***"]}`:                                                               `names user "ali" with ***, which keeps the password a user has; there is no such user: send the password`,
		`{"auth_users":[` + strings.Join(many, ",") + `]}`:                                         `may hold at most 32 passwords at once, got 33`,
		`{"auth_keys":["0123456789abcdef"]}`:                                                       `auth_keys is allowed only with auth_header; send auth_header with it`,
		`{"auth_header":"X-Key"}`:                                                                  `auth_keys is required with auth_header`,
		`{"auth_header":"Host","auth_keys":["0123456789abcdef"]}`:                                  `auth_header must be the name of a header, got "Host": it is part of the protocol`,
		`{"auth_header":"a b"}`:                                                                    `auth_header must be the name of a header, got "a b"`,
		`{` + keyed + `"auth_keys":["0123456789abcde"]}`:                                           `a list of at most 64 keys of at least 16 characters, got "sha256:`,
		`{` + keyed + `"auth_keys":["0123456789abcdef "]}`:                                         `it begins or ends with a blank`,
		`{` + keyed + `"auth_keys":["0123456789abcdefé"]}`:                                         `not printable ASCII`,
		`{` + keyed + `"auth_keys":["sha256:12345678…"]}`:                                          `there is no such key: send the key`,
		`{` + keyed + `"auth_keys":["sha256:123"]}`:                                                `what follows sha256: is no SHA-256`,
		`{` + keyed + `"auth_keys":["0123456789abcdef","sha256:` + sum("0123456789abcdef") + `"]}`: `must not hold the same twice`,
		`{"auth_realm":"inside"}`:                                                                  `auth_realm is allowed only with auth_users or auth_header; send one of them with it`,
		`{"auth_strip":false}`:                                                                     `auth_strip is allowed only with auth_users or auth_header`,
		`{"auth_users":["a:` + validatetest.TeaHash + `"],"auth_realm":"é"}`:                       `auth_realm must be a text of printable ASCII characters`,
		`{"auth_users":["a:` + validatetest.TeaHash + `"],"redirect":"https://b.test/"}`:           `auth_users and auth_header are not possible with redirect`,
		`{"auth_users":["a:` + validatetest.TeaHash + `"],"auth_header":"authorization","auth_keys":["Bearer 123456789"]}`: `auth_header must not be Authorization together with auth_users`,
	} {
		s := farm.Service{}
		_, err := validatetest.Change(t, &httpfarm.ServiceUpdate, &s, body)
		if err == nil {
			err = validatetest.First(validatetest.OnFarm(s, "http"))
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.120s\ngot  %v\nwant %s", body, err, want)
		}
		if err != nil && (strings.Contains(err.Error(), "secret") || strings.Contains(err.Error(), "0123456789")) {
			t.Errorf("%s: the rejection tells the secret: %v", body, err)
		}
	}
}
