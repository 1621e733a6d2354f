package guard_test

import (
	"encoding/base64"
	"net/http"
	"strings"
	"testing"

	"github.com/sluicelb/sluice/l7/guard"
)

func basic(credentials string) string {
	return "Basic " + base64.StdEncoding.EncodeToString([]byte(credentials))
}

func TestCredentialsAreReadStrictly(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 510)
	for value, want := range map[string]string{
		"Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ==": "Aladdin|open sesame", // RFC 7617 section 2
		"Basic dGVzdDoxMjPCow==":             "test|123£",           // and 2.1
		"bAsIc   " + basic("a:b")[6:]:        "a|b",
		basic("a:b:c"):                       "a|b:c",
		basic(":"):                           "|",
		basic("a:" + long):                   "a|" + long,
		basic("a:x" + long):                  "no",
		basic("nocolon"):                     "no",
		basic("a:b\x00"):                     "no",
		basic("a\n:b"):                       "no",
		basic("a\x1f:b"):                     "no",
		basic("a:\x7f"):                      "no",
		"":                                   "no",
		"Basic":                              "no",
		"Basic ":                             "no",
		"Bearer " + basic("a:b")[6:]:         "no",
		"Basic dGVzdDoxMjPCow":               "no", // not padded
		"Basic dGVzdDoxMjPCow== ":            "no",
		"Basic dGVz dDoxMjPCow==":            "no",
		"Basic YTpi\nYTpi":                   "no",
		"Basic YTpiYx==":                     "no", // bits are left over
	} {
		got := "no"
		if c, colon, ok := guard.Credentials(make([]byte, guard.MaxCredentials), []byte(value)); ok {
			got = string(c[:colon]) + "|" + string(c[colon+1:])
		}
		if got != want {
			t.Errorf("%q: got %.60s, want %.60s", value, got, want)
		}
	}
}

// FuzzCredentials compares with net/http, which is more lenient: it must accept everything
// accepted here, with the same result.
func FuzzCredentials(f *testing.F) {
	for _, seed := range []string{"Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ==", "basic Og==", "Basic dGVzdDoxMjPCow==", "Basic YTpi\r\nYTpi", "Basic  YTpi", "Bearer x", basic("a:b:c")} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, value []byte) {
		dst := make([]byte, guard.MaxCredentials)
		c, colon, ok := guard.Credentials(dst, value)
		if !ok {
			return
		}
		if colon < 0 || colon >= len(c) || c[colon] != ':' || len(c) > guard.MaxCredentials {
			t.Fatalf("%q: %d bytes, colon at %d", value, len(c), colon)
		}
		head, rest := string(value[:6]), strings.TrimLeft(string(value[6:]), " ")
		r := http.Request{Header: http.Header{"Authorization": {head + rest}}}
		user, password, known := r.BasicAuth()
		if !known || user != string(c[:colon]) || password != string(c[colon+1:]) {
			t.Fatalf("%q: %q, net/http reads %v %q %q", value, c, known, user, password)
		}
	})
}
